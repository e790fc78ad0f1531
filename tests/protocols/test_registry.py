"""Protocols by name, imported when needed; those of other packages by entry points; any class as module:Class."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.protocols import registry
from roamcast.protocols.kit.interface import Protocol

PACKAGE = """
from roamcast.protocols.kit.interface import Protocol

class Mine(Protocol):
    pass

class Other:
    pass

NOT_ONE = 3
"""


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with its own protocols; one of them takes a built-in name."""
    (tmp_path / "third_party_mod.py").write_text(PACKAGE)
    info = tmp_path / "third_party-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[roamcast.protocols]\nzebra = third_party_mod:Mine\nadder = third_party_mod:Mine\n"
        "gossip = third_party_mod:Mine\nnumber = third_party_mod:NOT_ONE\ngone = no_such_module:Mine\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", list(registry.BUILT_IN))
def test_a_built_in_name_leads_to_a_protocol_of_that_name(name: str) -> None:
    module, _, cls = registry.BUILT_IN[name].partition(":")
    if find_spec(module) is None:
        pytest.skip(f"{module} is not there yet")
    protocol = registry.get(name)
    assert issubclass(protocol, Protocol)
    assert protocol.__name__ == cls
    assert cls.lower() == name.replace("-", "")


def test_names_lists_built_in_protocols_first_and_others_by_name(third_party: Path) -> None:
    built_in = list(registry.BUILT_IN)
    assert registry.names()[: len(built_in)] == built_in
    assert registry.names()[len(built_in) :] == ["adder", "gone", "number", "zebra"]


def test_an_installed_package_adds_a_protocol(third_party: Path) -> None:
    assert registry.get("zebra").__name__ == "Mine"


def test_a_built_in_name_cannot_be_taken(third_party: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.BUILT_IN, "gossip", "roamcast.protocols.kit.interface:Protocol")
    assert registry.get("gossip") is Protocol


def test_a_class_in_no_package_is_named_by_its_module(third_party: Path) -> None:
    assert registry.get("third_party_mod:Mine").__name__ == "Mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gosip", "unknown protocol 'gosip'; did you mean 'gossip'?"),
        ("zebr", "unknown protocol 'zebr'; did you mean 'zebra'?"),
        ("number", "protocol 'number': third_party_mod:NOT_ONE is not a subclass"),
        ("gone", "protocol 'gone' cannot be loaded: No module named 'no_such_module'"),
        ("third_party_mod:Other", "protocol 'third_party_mod:Other': third_party_mod:Other is not a subclass"),
        ("third_party_mod:Absent", "protocol 'third_party_mod:Absent' cannot be loaded: "),
        (":Mine", "must be a name or module:Class"),
        ("third_party_mod:", "must be a name or module:Class"),
    ],
)
def test_anything_else_gets_one_clear_line(third_party: Path, name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        registry.get(name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_listing_names_imports_no_protocol() -> None:
    script = (
        "import sys; from roamcast.protocols import registry; registry.names()\n"
        "print([m for m in sys.modules if m.startswith('roamcast.protocols.')])"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    parts = ["kit", "kit.interface", "registry"]
    assert sorted(eval(loaded)) == [f"roamcast.protocols.{part}" for part in parts]
