"""What `import roamcast` offers: a small face that stays as it is, and costs nothing until it is used."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import roamcast as rc
import roamcast.testing

NAMES = [
    *("Event", "EventFrame", "Filter", "Frame", "Host", "InputError", "Node", "Params", "Protocol", "RoamcastError"),
    *("Scenario", "Simulation", "Study", "__version__", "campaign", "compare", "connect", "event_id", "open"),
    *("param", "parse_subscription", "preset", "reason", "simulate", "sweep"),
]


def test_the_public_names_are_these() -> None:
    assert sorted(rc.__all__) == NAMES
    assert set(NAMES) <= set(dir(rc))
    for name in NAMES:
        assert getattr(rc, name) is not None


def test_type_checkers_see_the_same_names() -> None:
    stub = ast.parse((Path(rc.__file__).parent / "__init__.pyi").read_text())
    imported = {
        alias.asname: (n.module, alias.name) for n in stub.body if isinstance(n, ast.ImportFrom) for alias in n.names
    }
    assert imported == {name: (home, name) for name, home in rc._HOMES.items()}
    assert sorted([*imported, "__version__"]) == NAMES


def test_each_class_and_function_is_documented() -> None:
    for name in rc._HOMES:
        value = getattr(rc, name)
        compiled = inspect.isbuiltin(value)  # a compiled function cannot be given a docstring
        assert compiled or (value.__doc__ or "").strip(), name
        assert inspect.signature(value) if not inspect.isclass(value) else True


def test_a_class_says_what_its_source_says() -> None:
    assert rc.Host.__doc__ == "What a protocol can request from the node it runs on."


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'roamcast' has no attribute 'simulat'") as error:
        rc.simulat  # noqa: B018
    assert (error.value.name, error.value.obj) == ("simulat", rc)  # so Python says which name was meant


def test_importing_loads_nothing_else() -> None:
    script = (
        "import sys, roamcast; print(sorted(m for m in sys.modules if m.startswith(('roamcast', 'msgspec', 'numpy'))))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['roamcast']"


def test_signatures_of_the_functions_do_not_change_unnoticed() -> None:
    parameters = {
        name: list(inspect.signature(getattr(rc, name)).parameters)
        for name in ("simulate", "campaign", "compare", "sweep")
    }
    both = ["seeds", "world", "reading", "processes", "out", "progress"]
    assert parameters == {
        "simulate": ["start", "protocol", "params", "seed", "world", "reading", "log", "level", "progress"],
        "campaign": ["source", "out", "engine", "processes", "extend", "retry", "progress"],
        "compare": ["start", "protocols", *both],
        "sweep": ["start", "protocol", "settings", *both],
    }


def test_the_hints_of_the_functions_can_be_resolved() -> None:
    assert typing.get_type_hints(rc.simulate)["return"] is rc.Simulation
    assert typing.get_type_hints(rc.compare)["return"] is rc.Study


def test_the_tests_of_protocols_use_the_public_host() -> None:
    assert issubclass(roamcast.testing.ScriptHost, rc.Host)
