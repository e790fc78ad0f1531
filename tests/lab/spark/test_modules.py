"""A worker takes each campaign's own modules."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from roamcast.lab.spark import modules


def test_a_module_of_the_same_name_is_that_of_the_folder_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(modules, "_added", [])
    for name in ("first", "second"):
        (tmp_path / name / "twin_package").mkdir(parents=True)
        (tmp_path / name / "twin.py").write_text(f"whose = {name!r}")
        (tmp_path / name / "twin_package" / "__init__.py").touch()
        (tmp_path / name / "twin_package" / "inner.py").write_text(f"whose = {name!r}")
    for name in ("first", "first", "second", "first"):
        modules.only_from(str(tmp_path / name))
        assert import_module("twin").whose == import_module("twin_package.inner").whose == name
    modules.only_from(str(tmp_path))
    assert not {"twin", "twin_package", "twin_package.inner"} & sys.modules.keys()
    assert "roamcast.lab" in sys.modules


def test_a_folder_that_was_on_the_path_stays_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(modules, "_added", [])
    modules.only_from(str(tmp_path))
    modules.only_from(str(tmp_path / "other"))
    assert str(tmp_path) in sys.path
