"""Classes by name. tests/protocols/test_registry.py tests most of it; this file tests the rest."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.plugins import Registry, import_from
from tests.support import harbour

DICTS = Registry("dictionary", "roamcast.dictionaries", "builtins:dict", {"ordered": "collections:OrderedDict"})


def test_a_name_is_checked_without_importing_anything() -> None:
    DICTS.check("ordered")
    DICTS.check("no_such_module:Class")
    with pytest.raises(InputError, match=r"^unknown dictionary 'orderd'; did you mean 'ordered'\?$"):
        DICTS.check("orderd")


def test_a_class_must_extend_the_base() -> None:
    assert DICTS.get("ordered") is OrderedDict
    with pytest.raises(InputError, match=r"^dictionary 'collections:deque': .* is not a subclass of builtins.dict$"):
        DICTS.get("collections:deque")


def test_a_base_class_is_called_by_its_public_name() -> None:
    renamed = Registry("dictionary", "roamcast.dictionaries", "builtins:dict", {}, "somewhere.Dictionary")
    with pytest.raises(InputError, match=r" is not a subclass of somewhere.Dictionary$"):
        renamed.get("collections:deque")


class Outer:
    class Inner(dict[str, int]):
        pass


def test_a_class_is_named_by_module_and_class_also_inside_another() -> None:
    assert DICTS.name_of(OrderedDict) == "collections:OrderedDict"
    assert DICTS.name_of(Outer.Inner) == "tests.test_plugins:Outer.Inner"
    assert DICTS.get("tests.test_plugins:Outer.Inner") is Outer.Inner


def test_a_class_that_no_module_has_cannot_be_named() -> None:
    class Local(dict[str, int]):
        pass

    with pytest.raises(InputError, match=r"a class must be at the top of a module that can be imported$"):
        DICTS.name_of(Local)
    twin = type("OrderedDict", (dict,), {"__module__": "collections"})
    with pytest.raises(
        InputError, match=r"^dictionary 'collections:OrderedDict': this name now stands for another class$"
    ):
        DICTS.name_of(twin)


def test_two_packages_with_one_name_are_distinguished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name, target in (
        ("one", "collections:Counter"),
        ("two", "collections:UserDict"),
        ("three", "collections:Counter"),
    ):
        harbour.install(tmp_path, name, f"[roamcast.dictionaries]\nmine = {target}\n", "")
    message = r"^dictionary 'mine': several packages have one; name yours: collections:Counter or collections:UserDict$"
    with pytest.raises(InputError, match=message):
        DICTS.get("mine")
    assert DICTS.names() == ["ordered", "mine"]


def test_a_package_that_is_found_twice_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("a", "b"):
        harbour.install(tmp_path / folder, "one", "[roamcast.dictionaries]\nmine = collections:Counter\n", "")
        monkeypatch.syspath_prepend(tmp_path / folder)
    assert DICTS.get("mine") is Counter


def test_a_folder_is_searched_first_and_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    import_from(str(tmp_path))
    import_from(str(tmp_path))
    assert sys.path[0] == str(tmp_path)
    assert sys.path.count(str(tmp_path)) == 1
