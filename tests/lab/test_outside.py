"""The code of a class from outside: changes of it that decide a result are seen, and others are not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path

import pytest

from roamcast.lab.outside import digest, sources

PROTOCOL = "from roamcast import Protocol\n{imports}\n\nclass Mine(Protocol):\n    pass\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that modules are imported from; they are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(folder: Path, **modules: str) -> None:
    for name, text in modules.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    invalidate_caches()


def mine(module: str) -> type:
    protocol: type = import_module(module).Mine
    return protocol


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ("", {"proto_a"}),
        ("import rules_a", {"proto_a", "rules_a", "deep_a"}),
        ("from rules_a import LIMIT", {"proto_a", "rules_a", "deep_a"}),
        ("def later():\n    from rules_a import LIMIT", {"proto_a", "rules_a", "deep_a"}),
        ("import json, numpy.linalg", {"proto_a"}),
        ("try:\n    import nowhere_at_all\nexcept ImportError:\n    import deep_a", {"proto_a", "deep_a"}),
    ],
)
def test_modules_of_the_same_folder_that_are_imported_belong_to_it(
    folder: Path, imports: str, expected: set[str]
) -> None:
    write(
        folder,
        proto_a=PROTOCOL.format(imports=imports),
        rules_a="import deep_a\nLIMIT = 3\n",
        deep_a="DEPTH = 1\n",
        beside_a="OTHER = 1\n",
    )
    assert sources(mine("proto_a")).keys() == expected


def test_a_package_is_followed_through_relative_imports_and_circles(folder: Path) -> None:
    write(
        folder,
        pack__init="",
        pack__proto=PROTOCOL.format(imports="from .rules import limit\nfrom . import table"),
        pack__rules="from pack import proto\ndef limit(): ...\n",
        pack__table="",
        pack__unused="",
    )
    (folder / "pack" / "init.py").rename(folder / "pack" / "__init__.py")
    invalidate_caches()
    assert sources(mine("pack.proto")).keys() == {"pack", "pack.proto", "pack.rules", "pack.table"}


def test_a_change_in_what_is_imported_changes_the_digest_and_one_beside_it_does_not(folder: Path) -> None:
    write(folder, proto_b=PROTOCOL.format(imports="import rules_b"), rules_b="LIMIT = 3\n", beside_b="X = 1\n")
    first = digest(mine("proto_b"))
    write(folder, beside_b="X = 2\n")
    assert digest(mine("proto_b")) == first
    write(folder, rules_b="LIMIT = 4\n")
    assert digest(mine("proto_b")) != first


def test_a_class_without_a_source_is_identified_by_its_name() -> None:
    namespace: dict[str, type] = {}
    exec("class Typed: pass\nclass Other: pass", {"__name__": "nowhere"}, namespace)
    assert sources(namespace["Typed"]) == {}
    assert digest(namespace["Typed"]) != digest(namespace["Other"])
