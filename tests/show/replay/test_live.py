"""Which requests the page of a running node is for."""

from __future__ import annotations

import pytest

from roamcast.show.replay.live import names_this_machine


@pytest.mark.parametrize(
    ("host", "port", "is_here"),
    [
        ("127.0.0.1:8080", 8080, True),
        ("localhost:8080", 8080, True),
        ("127.0.0.1", 80, True),
        ("localhost", 80, True),
        ("localhost:80", 80, True),
        ("localhost", 8080, False),
        ("localhost:", 8080, False),
        ("localhost:8081", 8080, False),
        ("localhost:8080", 80, False),
        ("evil.example", 80, False),
        ("evil.example:80", 80, False),
        ("", 80, False),
    ],
)
def test_only_names_of_this_machine_are_answered(host: str, port: int, is_here: bool) -> None:
    """Browsers leave out the port 80."""
    assert names_this_machine(host, port) == is_here
