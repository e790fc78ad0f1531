"""A group of nodes has a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.net.trust.keys import KeyRing


@pytest.fixture
def key(tmp_path: Path) -> str:
    KeyRing.new().save(tmp_path / "group.key")
    return str(tmp_path / "group.key")
