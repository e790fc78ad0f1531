from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.net.durable import DurableValues, FileValues, MemoryValues


@pytest.fixture(params=["memory", "file"])
def values(request: pytest.FixtureRequest, tmp_path: Path) -> DurableValues:
    return MemoryValues() if request.param == "memory" else FileValues(tmp_path / "a" / "values")


def test_the_value_that_was_stored_last_is_loaded(values: DurableValues) -> None:
    assert values.load("boot") is None
    values.store("boot", b"1")
    values.store("sequence", b"")
    values.store("boot", b"two")
    assert values.load("boot") == b"two"
    assert values.load("sequence") == b""


def test_files_are_private_and_survive_the_process(tmp_path: Path) -> None:
    FileValues(tmp_path / "v").store("identity", b"secret")
    assert FileValues(tmp_path / "v").load("identity") == b"secret"
    assert (tmp_path / "v" / "identity").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "v").stat().st_mode & 0o777 == 0o700
    assert os.listdir(tmp_path / "v") == ["identity"], "nothing temporary is left"  # noqa: PTH208


def test_the_old_value_stays_complete_until_the_new_one_is_stored(tmp_path: Path) -> None:
    values = FileValues(tmp_path)
    values.store("boot", b"the old value")
    with (tmp_path / "boot").open("rb") as old:
        values.store("boot", b"the new value")
        assert old.read() == b"the old value"
    assert values.load("boot") == b"the new value"


def test_a_process_killed_at_any_moment_leaves_an_old_or_a_new_value(tmp_path: Path) -> None:
    program = (
        "import sys; from roamcast.net.durable import FileValues; v = FileValues(sys.argv[1])\n"
        "n = int.from_bytes(v.load('boot') or b'', 'big')\n"
        "while True: n += 1; v.store('boot', n.to_bytes(8, 'big')); print(n, flush=True)"
    )
    last = 0
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", program, tmp_path / "v"], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        reported = [int(child.stdout.readline()) for _ in range(20)]
        child.kill()
        reported += [int(line) for line in child.stdout.read().split()]
        child.wait()
        child.stdout.close()
        stored = int.from_bytes(FileValues(tmp_path / "v").load("boot") or b"", "big")
        assert reported[0] > last
        assert stored in (reported[-1], reported[-1] + 1), "a value reported as stored is there"
        last = stored


def test_a_folder_that_cannot_be_made_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot keep state in"):
        FileValues(tmp_path / "file" / "values")
