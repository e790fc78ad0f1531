"""Classes by name. tests/protocols/test_registry.py tests most of it; this file tests the rest."""

from __future__ import annotations

import sys
from collections import OrderedDict
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.plugins import Registry, import_from

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


def test_a_folder_is_searched_first_and_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    import_from(str(tmp_path))
    import_from(str(tmp_path))
    assert sys.path[0] == str(tmp_path)
    assert sys.path.count(str(tmp_path)) == 1
