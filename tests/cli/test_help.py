"""Help: grouped, short and long option, examples that can be typed, completion."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from roamcast.cli import completion, examples, main
from roamcast.cli.campaign import app as campaigns
from roamcast.cli.model import app as models
from tests.cli.conftest import Typed


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        yield f"{path}{name}", command
        if hasattr(command, "commands"):
            yield from commands(command, f"{path}{name} ")


ALL = {
    **dict(commands(typer.main.get_command(main.app))),
    **dict(commands(typer.main.get_command(campaigns), "campaign ")),
    **dict(commands(typer.main.get_command(models), "model ")),
}


def test_the_page_has_its_groups_in_order(roamcast: Typed) -> None:
    _, out, _ = roamcast("--help")
    titles = [line.split("─")[1].strip() for line in out.splitlines() if line.startswith("╭")]
    assert titles == ["Options", "Simulate", "Compare", "Papers", "Live", "Data"]
    assert "Examples:" in out and out == roamcast("-h")[1]


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_a_short_help_and_examples(name: str, roamcast: Typed) -> None:
    status, out, err = roamcast(*name.split(), "-h")
    assert (status, err) == (0, "") and "Usage: roamcast" in out
    assert roamcast(*name.split(), "--help")[1] == out
    assert "Examples:" in out and "<bool>" not in out
    assert "--verbose" not in out or "<int>" not in out, "it takes no value"


def test_there_are_no_examples_of_commands_that_do_not_exist() -> None:
    assert set(examples.EXAMPLES) == {"", *ALL}


@pytest.mark.parametrize("line", sorted({line for lines in examples.EXAMPLES.values() for line in lines}))
def test_an_example_can_be_typed(line: str) -> None:
    """Its options exist, and nothing that is needed is missing."""
    program, *words = shlex.split(line)
    assert program == "roamcast"
    if words[0] == "campaign" and " ".join(words[:2]) not in ALL:
        words.insert(1, "run")
    name = " ".join(words[:2]) if " ".join(words[:2]) in ALL else words[0]
    rest = words[len(name.split()) :]
    command = ALL[name]
    command.make_context(name, list(rest))


@pytest.mark.parametrize("line", [line for line in examples.EXAMPLES["sweep"] if " my.toml" not in line])
def test_an_example_of_a_sweep_can_be_run(line: str, roamcast: Typed, tmp_path: Any, monkeypatch: Any) -> None:
    """Its settings go together; a shorter world and fewer seeds give the same errors."""
    monkeypatch.chdir(tmp_path)
    less = ["--seeds", "1", "--world", "duration_s=12", "--world", "publish_until_s=12"]
    status, _, err = roamcast(*shlex.split(line)[1:], *less)
    assert status == 0, err


@pytest.mark.parametrize("name", ["run", "campaign", "campaign run", "node", "trace stats", "model"])
def test_help_loads_nothing_that_only_the_work_needs(name: str) -> None:
    script = (
        "import sys; from roamcast.cli.main import main\n"
        f"sys.argv = ['roamcast', *{name.split()!r}, '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = ('cryptography', 'numpy', 'pyarrow', 'pydantic', 'roamcast.lab', 'roamcast.world', 'roamcast.net')\n"
        "print([module for module in heavy if module in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "[]\n")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("com", ["compare"]),
        ("run bald", ["baldoni"]),
        ("run baldoni --protocol goss", ["gossip"]),
        ("run baldoni --world speed_ma", ["speed_max_mps="]),
        ("compare baldoni prox", ["proximity"]),
        ("compare baldoni gossip --metric deliver", ["delivery", "deliveries"]),
    ],
)
def test_the_shell_completes_commands_and_names(typed: str, offered: list[str]) -> None:
    words = ["roamcast", *typed.split()]
    environment = {
        **os.environ,
        "_ROAMCAST_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    script = "import sys; sys.argv = ['roamcast']; from roamcast.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (offered, "")


def test_scenario_files_of_this_folder_are_offered(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("")
    assert completion.starts("mi") == ["mine.toml"]
