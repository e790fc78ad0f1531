"""Packages that may be missing, and the line that says what to install."""

from __future__ import annotations

import re
import tomllib

import pytest

from roamcast.errors import InputError, MissingExtra
from roamcast.extras import EXTRAS, INCLUDED, missing, need
from tests.support.checkout import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DISTRIBUTIONS = {"markdown_it": "markdown-it-py", "paho": "paho-mqtt", "py4j": "pyspark"}
"""Whose names are not what Python imports."""


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roamcast.extras.find_spec", lambda _: None)


def names(requirements: list[str]) -> set[str]:
    return {match.group() for match in (re.match(r"[\w-]+", text) for text in requirements) if match}


@pytest.mark.parametrize("package", EXTRAS)
def test_the_extra_that_is_named_brings_the_package(package: str) -> None:
    extra = PROJECT["optional-dependencies"][EXTRAS[package][1]]
    assert DISTRIBUTIONS.get(package, package) in names(extra)
    assert DISTRIBUTIONS.get(package, package) not in names(PROJECT["dependencies"])


def test_extras_that_bring_another_one_do() -> None:
    for extra, others in INCLUDED.items():
        for other in others:
            assert f"roamcast[{extra}]" in PROJECT["optional-dependencies"][other]


def test_all_has_every_extra_that_a_line_can_name() -> None:
    everything = PROJECT["optional-dependencies"]["all"][0]
    named = {extra for _, extra in EXTRAS.values()}
    assert set(re.findall(r"\w+", everything)) - {"roamcast"} | set(INCLUDED) == named


def test_what_is_installed_is_no_error() -> None:
    need("testing", "pytest", "hypothesis")


@pytest.mark.parametrize(
    ("packages", "line"),
    [
        (["numpy"], "this needs NumPy: pip install 'roamcast[data]'"),
        (["pyspark", "py4j"], "this needs PySpark: pip install 'roamcast[lab]'"),
        (["pyspark", "pyarrow"], "this needs PySpark and PyArrow: pip install 'roamcast[lab]'"),
        (["cryptography", "numpy"], "this needs cryptography and NumPy: pip install 'roamcast[data,net]'"),
        (
            ["pyspark", "numpy", "matplotlib"],
            "this needs PySpark, NumPy and matplotlib: pip install 'roamcast[figures,lab]'",
        ),
    ],
)
def test_one_line_names_all_packages_and_the_fewest_extras(
    packages: list[str], line: str, nothing_installed: None
) -> None:
    with pytest.raises(MissingExtra) as caught:
        need("this", *packages)
    assert str(caught.value) == line
    assert isinstance(caught.value, InputError)


def test_an_import_that_failed_becomes_the_same_line() -> None:
    line = missing("a node", ModuleNotFoundError(name="cryptography.exceptions"))
    assert str(line) == "a node needs cryptography: pip install 'roamcast[net]'"


@pytest.mark.parametrize("name", ["mine", "roamcast.nowhere", "", None])
def test_other_imports_that_fail_are_not_explained(name: str | None) -> None:
    assert missing("run", ModuleNotFoundError(name=name)) is None
