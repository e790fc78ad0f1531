"""The gallery: every picture is there and small, and its command is one that works.

Commands between ```console run for real here (and not again in test_examples.py); the slow ones, and those that need a
browser, are parsed and planned.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import FENCE, ROOT, play, typed

PAGE = ROOT / "docs" / "explanation" / "gallery.md"
TEXT = PAGE.read_text(encoding="utf-8")
PICTURES = [(PAGE.parent / place).resolve() for place in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", TEXT)]
SHELL = [
    line for block in re.findall(r"^```sh\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE) for line in block.splitlines()
]


def test_there_are_ten_pictures_each_with_its_command() -> None:
    sections = TEXT.split("\n## ")[1:]
    assert len(sections) == len(set(PICTURES)) == 10
    for section, picture in zip(sections, PICTURES, strict=True):
        commands = "\n".join(re.findall(r"^```(?:console|sh)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE))
        assert picture.name in commands
        assert len([line for line in commands.splitlines() if line != "…"]) == 1  # one command makes it
        assert picture.stat().st_size < 100_000


def test_commands_write_the_pictures_that_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the pictures say, not their bytes: another version of matplotlib draws other curves for the same data."""
    monkeypatch.chdir(tmp_path)
    play(PAGE, tmp_path)
    console = "\n".join(block for language, block in FENCE.findall(TEXT) if language == "console")
    names = re.findall(r"--(?:plot|figure) (\S+)", console)
    assert len(names) == 5
    for name in names:
        (shown,) = [picture for picture in PICTURES if picture.name == name]
        assert words(tmp_path / name) == words(shown)


def words(picture: Path) -> list[tuple[str, str]]:
    """Text, or where letters are drawn, the comment that says which."""
    return re.findall(r"<text[^>]*>([^<]+)</text>|<!-- (.+?) -->", picture.read_text(encoding="utf-8"))


@pytest.mark.parametrize("line", SHELL)
def test_slow_commands_are_understood(line: str, tmp_path: Path) -> None:
    for command in line.split(" && "):
        program, *arguments = shlex.split(command)
        if program == "python" and arguments[0] == "-c":
            compile(arguments[1], PAGE.name, "exec")
        elif program == "python":
            done = subprocess.run(
                [sys.executable, ROOT / arguments[0], "--check", *arguments[1:]],
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode, done.stderr) == (0, "")
        elif arguments[0] == "reproduce":
            assert "What quick scale takes" in typed(f"{command} --plan", tmp_path)
        else:
            assert program == "roamcast" and arguments[0] in ("run", "replay", "trace")


def test_walkers_meet_as_the_picture_shows(tmp_path: Path) -> None:
    (line,) = [line for line in SHELL if "trace stats" in line]
    made, drawn = line.split(" && ")
    subprocess.run([sys.executable, ROOT / "tools" / "walkers.py", "walkers.csv"], cwd=tmp_path, check=True)
    assert made == "python tools/walkers.py walkers.csv"
    typed(drawn, tmp_path)
    (shown,) = [picture for picture in PICTURES if picture.name == "contacts.svg"]
    assert words(tmp_path / "contacts.svg") == words(shown)


def test_a_run_is_replayed_as_the_page_says(tmp_path: Path) -> None:
    (line,) = [line for line in SHELL if line.startswith("roamcast run")]
    shown = [typed(command, tmp_path) for command in line.split(" && ")[:2]]
    assert shown[1] == "replay: run.html\n"
    assert (tmp_path / "run.html").stat().st_size < 1_000_000
