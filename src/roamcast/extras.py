"""Packages that only a part of roamcast needs, and what to type if one of them is missing.

`pip install roamcast` brings what simulating takes. Extras bring the rest (pyproject.toml says which and why), so a
missing package is nothing unusual: people read one line that ends with what to type, never a traceback.

A module imports such a package where it needs it, and nobody catches the ImportError: the command line and
`import roamcast` turn it into that line (`missing`). Code calls `need` where that would come too late, or would name
only the first of several packages, or where a program calls in by another way than a name of `import roamcast`.
"""

from __future__ import annotations

from importlib.util import find_spec

from roamcast.errors import MissingExtra

EXTRAS = {
    "cryptography": ("cryptography", "net"),
    "markdown_it": ("markdown-it-py", "figures"),
    "matplotlib": ("matplotlib", "figures"),
    "numpy": ("NumPy", "data"),
    "paho": ("paho-mqtt", "mqtt"),
    "pandas": ("pandas", "data"),
    "py4j": ("PySpark", "lab"),
    "pyarrow": ("PyArrow", "data"),
    "pyspark": ("PySpark", "lab"),
}
"""By the name that Python imports: what people call the package, and the extra that brings it."""
INCLUDED = {"data": {"figures", "lab"}}
"""An extra that others bring as well."""


def need(what: str, *packages: str) -> None:
    """A MissingExtra unless all these packages are installed. `what` needs them: "a figure", "report"."""
    absent = [package for package in packages if find_spec(package) is None]
    if absent:
        raise MissingExtra(_line(what, absent))


def missing(what: str, error: ModuleNotFoundError) -> MissingExtra | None:
    """The one line for an import that failed; None if no extra would help."""
    package = (error.name or "").partition(".")[0]
    return MissingExtra(_line(what, [package])) if package in EXTRAS else None


def _line(what: str, packages: list[str]) -> str:
    names = list(dict.fromkeys(EXTRAS[package][0] for package in packages))
    extras = {EXTRAS[package][1] for package in packages}
    typed = sorted(extra for extra in extras if not INCLUDED.get(extra, set()) & extras)
    return f"{what} needs {_listed(names)}: pip install 'roamcast[{','.join(typed)}]'"


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
