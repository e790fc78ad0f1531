"""Everything roamcast raises on purpose.

RoamcastError
├── InputError          wrong input by a person, typed or in a file: one clear line, exit status 2
│   ├── FilterError     a filter's text, with the position of the wrong character
│   ├── MapError        a street map that cannot be driven on
│   ├── Misplaced       an entry of a file, with its place there: toml.py adds the line
│   ├── MissingExtra    a package that is not installed: the line says what to type (extras.py)
│   ├── NoData          the experiment has no run that a check is about
│   ├── NotNow          a running node's disk is full, or the node stops: exit status 75, it may succeed later
│   └── WrongRequest    a request that a running node can never fulfil, however often it is repeated
├── Interrupted         what a campaign needs (its storage, Java) failed: exit status 75, and the same command goes on
├── JobFailed           a run of a comparison raised something
├── LogsDiffer          the tally of a run differs from its log
├── Malformed           received bytes that are not a frame: counted and dropped, never passed to a protocol
├── NodeClosed          a real node that is not running
├── Outgrown            a table is too large for the memory of this machine
├── StoreError          a real node's disk failed or is full: exit status 75, because another start may succeed
├── TookTooLong         a run of a campaign took longer than its limit
└── WorkerDied          a worker process of Spark died during a run, several times

One kind stays with the code that raises and catches it: `net` refuses a datagram by raising `Refused`, which never
leaves that package.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class RoamcastError(Exception):
    """Base of all errors that roamcast raises on purpose."""


class InputError(RoamcastError):
    """Wrong input. The message is one line that names the field and says what would be right."""


class FilterError(InputError):
    """A filter's text does not parse. `position` counts characters from 0."""

    def __init__(self, message: str, text: str, position: int) -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.position = position

    def __str__(self) -> str:
        return f"{self.message} at character {self.position + 1} of {self.text!r}"


class MapError(InputError):
    """A street map that cannot be driven on."""


class Misplaced(InputError):
    """A wrong entry of a file; `path` leads to it, such as ("protocol", 0, "name")."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path = path


class MissingExtra(InputError):
    """What was asked for needs a package that is not installed."""


class NoData(InputError):
    """The experiment has no runs that a check is about."""


class NotNow(InputError):
    """A running node did not fulfil a request that may succeed later."""


class WrongRequest(InputError):
    """A running node cannot fulfil this request, and could not later."""


class Interrupted(RoamcastError):
    """Something outside of the runs failed: a full disk, a lost mount, a store out of reach, Java that died.

    Nothing is recorded as failed. Whoever sees to it types the same command again, which goes on.
    """


class JobFailed(RoamcastError):
    """A run raised: its place in the list is `index`, and the message is one line. `details` is the whole traceback."""

    def __init__(self, index: int, line: str, details: str) -> None:
        super().__init__(line)
        self.index = index
        self.details = details


class LogsDiffer(RoamcastError):
    """The tally of a run differs from its log: no result that uses its numbers can be trusted."""


class Malformed(RoamcastError):
    """Bytes or fields that are not a frame."""


class NodeClosed(RoamcastError):
    """The node is not running."""


class Outgrown(RoamcastError):
    """A table became too large for the memory of this machine."""


class StoreError(RoamcastError):
    """The disk failed or is full: the request changed nothing, and may succeed later."""


class TookTooLong(RoamcastError):
    """A run took longer than it may."""


class WorkerDied(RoamcastError):
    """A worker process died during a run, several times."""


def unknown(what: str, name: str, known: Iterable[str], lists: str = "") -> InputError:
    """`unknown protocol 'gosip'; did you mean 'gossip'?`"""
    return InputError(f"unknown {what} {name!r}; {meant(name, known, lists)}")


def meant(name: str, known: Iterable[str], lists: str = "") -> str:
    """`did you mean 'gossip'?`, or all that is known. `lists` says what lists them if they are too many for a line."""
    names = sorted(known)
    close = [each for each in names if each.startswith(name)] if len(name) >= 3 else []  # people forget endings
    close = close if 0 < len(close) <= 5 else get_close_matches(name, names, n=1)
    if not close:
        return lists or "known: " + ", ".join(names)
    *first, last = map(repr, close)
    return f"did you mean {', '.join(first)} or {last}?" if first else f"did you mean {last}?"


def error_text(error: BaseException) -> str:
    """Why something failed, in one line for people; the file it was about is named beside it."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    if isinstance(error, UnicodeDecodeError):
        return "not text in UTF-8"
    return one_line(error)


def one_line(error: BaseException) -> str:
    """The whole message of an error, in one line."""
    return " ".join(str(error).split())
