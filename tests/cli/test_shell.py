"""The shell of `roamcast query`: statements, commands, errors and files, on real tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import csv

import roamcast as rc
from roamcast.cli.shell import HELP, Shell, is_command, remembered, split
from roamcast.errors import InputError
from roamcast.lab.tables.laboratory import Laboratory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHORT = {"duration_s": 15.0, "nodes": 30}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Laboratory:
    out = tmp_path_factory.mktemp("shell") / "out"
    rc.sweep("baldoni", "gossip", {"p": [0.2, 0.9]}, seeds=2, world=SHORT, out=out)
    return Laboratory(out, spark)


class Session:
    """A shell whose answers and sentences are kept; its typist types lines, Ctrl-C (None), and at last Ctrl-D."""

    def __init__(self, opened: Laboratory) -> None:
        self.answers: list[tuple[list[str], list[list[Any]]]] = []
        self.sentences: list[str] = []
        self.shell = Shell(opened, 100, lambda *answer: self.answers.append(answer), self.sentences.append)

    def type(self, *lines: str | None) -> None:
        typed: Iterator[str | None] = iter(lines)

        def read(prompt: str) -> str:
            try:
                line = next(typed)
            except StopIteration:
                raise EOFError from None
            if line is None:
                raise KeyboardInterrupt
            return line

        self.shell.interactive(read)


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("select 1; select 2;", ["select 1", "select 2", ""]),
        ("select ';' as a; x", ["select ';' as a", " x"]),
        ('select `a;b`, "c;" from t;', ['select `a;b`, "c;" from t', ""]),
        ("select 1 -- one; two\n;", ["select 1 -- one; two", ""]),
        ("select 1 -- one;", ["select 1 -- one;"]),
        ("", [""]),
    ],
)
def test_a_statement_ends_with_a_semicolon_that_is_no_text_or_comment(text: str, statements: list[str]) -> None:
    assert [*split(text)] == statements


def test_commands_need_no_semicolon() -> None:
    assert all(map(is_command, ["tables\n", "describe metrics", "HELP", "quit", ".csv x.csv"]))
    assert not any(map(is_command, ["", "select 1", "describe metrics p_p", "table"]))


def test_a_question_may_have_lines_an_error_is_one_line_and_the_shell_goes_on(opened: Laboratory) -> None:
    session = Session(opened)
    session.type(
        "select p_p, count(*) as n",
        "from metrics group by 1",
        "order by 1;",
        "select delivry from metrics;",
        "select 7 as x; tables",
    )
    assert session.answers[0] == (["p_p", "n"], [[0.2, 2], [0.9, 2]])
    assert session.answers[1] == (["x"], [[7]])
    assert [name for name, _ in session.answers[2][1]] == ["runs", "log", "metrics", "summary", "provenance"]
    (error, bye) = session.sentences
    assert error.startswith("query: ") and "delivry" in error and "\n" not in error and bye == ""


def test_describe_help_and_quit(opened: Laboratory) -> None:
    session = Session(opened)
    session.type("describe summary", "help", "quit", "select 1;")
    assert ["p_p", "double"] in [row[:2] for row in session.answers[0][1]]
    assert session.sentences[0] == HELP and len(session.answers) == 1


def test_ctrl_c_forgets_what_was_begun(opened: Laboratory) -> None:
    session = Session(opened)
    session.type("select 1,", None, "select 2 as y;")
    assert session.answers == [(["y"], [[2]])]


def test_the_last_answer_goes_to_a_file(opened: Laboratory, tmp_path: Path) -> None:
    session = Session(opened)
    file = tmp_path / "new" / "answer.csv"
    session.type(
        f".csv {file}", "select seed, delivery from metrics order by p_p, seed;", f".csv {file}", f".arrow {file}"
    )
    assert session.sentences[0].startswith(".csv: ask something first")
    assert session.sentences[1] == f"{file}: written"
    assert session.sentences[2].endswith("must end with .arrow")
    assert csv.read_csv(file).column("delivery").to_pylist() == [row[1] for row in session.answers[0][1]]


def test_a_script_ends_with_its_first_error(opened: Laboratory) -> None:
    session = Session(opened)
    session.shell.script(["select 1 as a;\n", "select 2 as b"])
    assert session.answers == [(["a"], [[1]]), (["b"], [[2]])]
    with pytest.raises(InputError, match=r"^query: "):
        session.shell.script(["select nope;", "select 3;"])
    assert len(session.answers) == 2


def test_lines_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import readline

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with remembered():
        readline.add_history("select 42;")
    assert "select 42;" in (tmp_path / "roamcast" / "query_history").read_text()
