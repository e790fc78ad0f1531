"""The client of a node's socket. Its calls block: it is for commands, not for servers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roamcast.errors import InputError, NotNow, error_text
from roamcast.net.control import messages
from roamcast.net.control.messages import GONE, Expected, Publish, ReceivedEvent, Request, Rows, Watch

ANSWER_S: Final = 10.0
"""How long to wait for an answer."""


class Connection:
    """A connection to a node that runs on this machine."""

    def __init__(self, state: str | Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(ANSWER_S)
        try:
            self._socket.connect(str(messages.socket_path(state)))
        except OSError as error:
            raise unreachable(state, error) from None
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._socket.close()

    def request(self, request: Request, expected: type[Expected]) -> Expected:
        """The node's reply. There is no time limit for `Publish`: the event is published in any case, and a second
        request would publish it again."""
        self._socket.settimeout(None if isinstance(request, Publish) else ANSWER_S)
        try:
            self._socket.sendall(messages.request_line(request))
            return self._reply(expected)
        except TimeoutError:
            raise InputError("the node does not answer") from None
        except OSError:
            raise NotNow(GONE) from None

    def events(self, patience_s: float | None = None) -> Iterator[ReceivedEvent]:
        """The events after a `Subscribe` request; ends when no event comes for `patience_s` seconds."""
        self._socket.settimeout(patience_s)
        while True:
            try:
                yield self._reply(ReceivedEvent)
            except TimeoutError:
                return

    def watch(self) -> Iterator[Rows]:
        """What the node logs, from now on; some replies a second, also if nothing happens."""
        yield self.request(Watch(), Rows)
        while True:
            try:
                yield self._reply(Rows)
            except TimeoutError:
                raise InputError("the node does not answer") from None

    def _reply(self, expected: type[Expected]) -> Expected:
        try:
            line = self._lines.readline()
        except TimeoutError:
            raise
        except OSError:
            line = b""
        return messages.expected_reply(line, expected)


def unreachable(state: str | Path, error: OSError) -> InputError:
    """Why there is no connection to the node of a state."""
    if isinstance(
        error, FileNotFoundError | ConnectionRefusedError
    ):  # refused: the node was killed, and its socket file is left
        return InputError(f"no node runs on the state {state} (`roamcast node --state {state}`)")
    return InputError(f"cannot reach the node of {state}: {error_text(error)}")
