"""The package as a whole: what is public, what is compiled, what must never be committed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import roamcast
from roamcast.cli import build
from tests.support import checkout
from tests.support.checkout import ROOT


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def setup_py() -> dict[str, Any]:
    return checkout.setup_py()


def test_the_version_is_written_once(project: dict[str, Any]) -> None:
    assert project["project"]["version"] == roamcast.__version__


def test_no_compiled_module_is_older_than_its_source() -> None:
    assert build.stale(ROOT / "src" / "roamcast") == [], "run make setup"


def test_the_whole_group_is_compiled_or_nothing(setup_py: dict[str, Any]) -> None:
    built = {path.with_name(path.name.partition(".")[0]) for path in (ROOT / "src" / "roamcast").rglob("*.so")}
    assert built in (set(), {path.with_suffix("") for path in setup_py["compiled_sources"]()}), "run make setup"


def test_mypyc_takes_the_sources() -> None:
    """A machine without a compiler may fall back to plain Python; sources that mypyc refuses may not."""
    stamp = ROOT / "build" / "compiled"
    if not stamp.exists():
        pytest.skip("not set up by make setup")
    assert "refused" not in stamp.read_text()


def test_interpreted_modules_are_named_because_they_exist(setup_py: dict[str, Any]) -> None:
    for name in setup_py["INTERPRETED"]:
        assert (ROOT / "src" / "roamcast" / name).exists(), name


def test_the_hot_modules_are_compiled(setup_py: dict[str, Any]) -> None:
    names = {str(path.relative_to(ROOT / "src" / "roamcast")) for path in setup_py["compiled_sources"]()}
    hot = {
        "errors.py",
        "pubsub/event.py",
        "protocols/kit/interface.py",
        "protocols/gossip.py",
        "protocols/frugal/protocol.py",
    }
    assert names >= hot | {"log/writer.py", "world/kernel.py", "world/streams.py", "world/mobility/base.py"}
    assert not names & setup_py["INTERPRETED"]


def test_the_digest_follows_sources_and_nothing_else(
    setup_py: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copy = tmp_path / "src" / "roamcast"
    for name in (
        "errors.py",
        "extras.py",
        "files.py",
        "plugins.py",
        "pubsub/event.py",
        "world/kernel.py",
        "cli/main.py",
    ):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text("x = 1\n")
    (tmp_path / "setup.py").write_text("")
    names = setup_py["digest"].__globals__
    monkeypatch.setitem(names, "SOURCE", tmp_path / "src")
    monkeypatch.setitem(names, "ROOT", tmp_path)
    monkeypatch.setitem(names, "__file__", str(tmp_path / "setup.py"))
    seen = [setup_py["digest"]()]
    assert setup_py["digest"]() == seen[0]
    (copy / "cli/main.py").write_text("x = 2\n")
    assert setup_py["digest"]() == seen[0]
    (copy / "world/kernel.py").write_text("x = 2\n")
    seen.append(setup_py["digest"]())
    (copy / "pubsub/event.py").unlink()
    seen.append(setup_py["digest"]())
    monkeypatch.setenv("ROAMCAST_PURE", "1")
    seen.append(setup_py["digest"]())
    assert len(set(seen)) == 4


@pytest.mark.parametrize(
    ("script", "taken"),
    [
        ("exit 0", True),
        ('case "$*" in *-flto*) exit 1; esac', False),
        ('case "$*" in *-shared*) exit 1; esac', False),  # the linker refuses it
    ],
)
def test_a_flag_that_the_compiler_refuses_is_left_out(
    setup_py: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, taken: bool
) -> None:
    """Or nothing at all would be compiled."""
    (tmp_path / "compiler").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "compiler").chmod(0o755)
    monkeypatch.setenv("CC", str(tmp_path / "compiler"))
    assert setup_py["flags"]() == setup_py["FLAGS"] + ([setup_py["AT_LINKING"]] if taken else [])


def test_without_a_compiler_no_flag_is_tried(
    setup_py: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CC", str(tmp_path / "missing"))
    assert setup_py["flags"]() == setup_py["FLAGS"]


def test_every_dependency_is_pinned(project: dict[str, Any]) -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pinned = {re.sub(r"[-_.]+", "-", line.partition("==")[0]).lower() for line in lines}
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for group in project["project"]["optional-dependencies"].values():
        wanted += group
    for requirement in wanted:
        name = re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement).group()).lower()
        assert name in pinned or name == "roamcast", requirement


README = """\
# roamcast

![picture](docs/a.svg)

See [the guide](docs/guide.md#top), [a site](https://example.org/) and [above](#roamcast).
<img src="docs/b.png" alt="b">

```python
call = table[0](relative)
```
"""


@pytest.mark.parametrize(
    ("address", "changed"),
    [
        ("", {"![picture](docs/a.svg)\n\n": "", "[the guide](docs/guide.md#top)": "the guide (`docs/guide.md#top`)"}),
        ("https://host/x", {"](docs/": "](https://host/x/docs/", 'src="docs/': 'src="https://host/x/docs/'}),
    ],
)
def test_an_index_gets_a_page_whose_links_lead_somewhere(
    setup_py: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str, changed: dict[str, str]
) -> None:
    (tmp_path / "README.md").write_text(README)
    monkeypatch.setitem(setup_py["description"].__globals__, "ROOT", tmp_path)
    expected = README
    for text, instead in (changed if address else changed | {'<img src="docs/b.png" alt="b">\n\n': ""}).items():
        expected = expected.replace(text, instead)
    assert setup_py["description"](address) == expected


def test_it_runs_from_the_sources_without_being_installed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "roamcast.cli.main", "--version"],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith(f"roamcast {roamcast.__version__}")


def test_no_compiled_or_built_file_is_committed() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    assert [name for name in tracked if re.search(r"\.(so|pyc)$|^(build|out|\.venv)/", name)] == []
