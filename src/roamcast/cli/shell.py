"""A shell for a campaign's tables: Spark starts once, then question follows question.

A statement is Spark SQL up to a semicolon, over as many lines as it takes. Commands (HELP) need none. An error is one
line, and the shell goes on; Ctrl-C ends a question, Ctrl-D the shell.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamcast.errors import InputError

if TYPE_CHECKING:
    from roamcast.lab.tables.laboratory import Laboratory

PROMPT, FURTHER = "roamcast> ", "       …> "
QUOTES = "'\"`"
ENDINGS = (".csv", ".arrow", ".parquet")
HELP = """\
SELECT …;            Spark SQL; a statement ends with a semicolon
tables               the tables and how many columns they have
describe TABLE       the columns of a table and their types
.csv FILE            write the last answer to a file: .csv, .arrow or .parquet
help                 these lines
quit                 leave; so does Ctrl-D. Ctrl-C ends a question"""
Show = Callable[[list[str], list[list[Any]]], None]


class Shell:
    """Answers go to `show`, everything else to `say`."""

    def __init__(self, opened: Laboratory, limit: int, show: Show, say: Callable[[str], None] = print) -> None:
        self.opened = opened
        self.limit = limit
        self.show = show
        self.say = say
        self.last = ""

    def interactive(self, read: Callable[[str], str] = input) -> None:
        """Until Ctrl-D."""
        typed = ""
        while True:
            try:
                typed += read(FURTHER if typed else PROMPT) + "\n"
                typed = self._done(typed)
            except KeyboardInterrupt:
                self.opened.cancel()
                self.say("")
                typed = ""
            except InputError as error:
                self.say(str(error))
                typed = ""
            except EOFError:
                self.say("")
                return

    def _done(self, typed: str) -> str:
        """Do all that is complete; returns the rest."""
        *complete, rest = [*split(typed)]
        for statement in complete:
            self.do(statement)
        if is_command(rest):
            self.do(rest.strip())
            rest = ""
        return rest if rest.strip() else ""

    def script(self, lines: Iterable[str]) -> None:
        """All statements of a file; the first error ends it."""
        typed = ""
        with contextlib.suppress(EOFError):
            for line in lines:
                typed = self._done(typed + line.rstrip("\n") + "\n")
            if typed.strip():
                self.do(typed.strip())

    def do(self, statement: str) -> None:
        """One command or one question."""
        word, _, rest = statement.partition(" ")
        if word in ENDINGS:
            self._export(Path(rest.strip()).expanduser(), word)
        elif statement.lower() in ("quit", "exit"):
            raise EOFError
        elif statement.lower() == "help":
            self.say(HELP)
        elif statement.lower() == "tables":
            self.show(["table", "columns"], [[name, count] for name, count in self.opened.tables().items()])
        elif statement.strip():
            self.show(*self.opened.ask(statement, self.limit))
            self.last = statement

    def _export(self, path: Path, ending: str) -> None:
        if not self.last:
            raise InputError(f"{ending}: ask something first; the file gets the last answer")
        if path.suffix != ending:
            raise InputError(f"{ending} FILE: {path} must end with {ending}")
        self.say(f"{self.opened.save(self.last, path)}: written")


def is_command(typed: str) -> bool:
    words = typed.split()
    if not words:
        return False
    known = words[0] in ENDINGS or (words[0].lower() in ("describe", "desc") and len(words) == 2)
    return known or (len(words) == 1 and words[0].lower() in ("help", "quit", "exit", "tables"))


def split(text: str) -> Iterator[str]:
    """The statements that end with a semicolon, and at last the rest; quotes and comments may have some inside."""
    start = place = 0
    quote = ""
    while place < len(text):
        letter = text[place]
        if quote:
            quote = "" if letter == quote else quote
        elif letter in QUOTES:
            quote = letter
        elif text.startswith("--", place):
            place = text.find("\n", place)
            if place < 0:
                break
        elif letter == ";":
            yield text[start:place].strip()
            start = place + 1
        place += 1
    yield text[start:]


@contextlib.contextmanager
def remembered() -> Iterator[None]:
    """Lines of this shell and of those before, for the arrow keys."""
    try:
        import readline
    except ImportError:  # not everywhere
        yield
        return
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    file = state / "roamcast" / "query_history"
    with contextlib.suppress(OSError):
        readline.read_history_file(file)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            readline.set_history_length(1000)
            readline.write_history_file(file)
