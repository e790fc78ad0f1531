"""The two processes of docs/how-to/two-nodes.md really talk, in either order of their start."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from roamcast.net.trust.keys import KeyRing
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "how-to" / "two-nodes.md").read_text()
PATIENCE_S = 60.0


def files() -> dict[str, str]:
    return dict(re.findall(r"^```python\n# file: (\S+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))


def test_each_process_is_ten_lines() -> None:
    for text in files().values():
        body = [line for line in text.splitlines() if line and not line.startswith(("import", "from"))]
        assert len(body) <= 10


@pytest.mark.parametrize("order", [["listener.py", "speaker.py"], ["speaker.py", "listener.py"]])
def test_what_one_says_the_other_prints(tmp_path: Path, order: list[str]) -> None:
    KeyRing.new().save(tmp_path / "group.key")
    for name, text in files().items():
        (tmp_path / name).write_text(text)
    (expected,) = re.findall(r"^```text\n(weather.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    running = {
        name: subprocess.Popen([sys.executable, name], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
        for name in order
    }
    try:
        listener = running["listener.py"]
        assert listener.stdout is not None
        assert select.select([listener.stdout], [], [], PATIENCE_S)[0], "nothing came"
        assert listener.stdout.readline() == expected
    finally:
        for process in running.values():
            process.kill()
            process.communicate()
