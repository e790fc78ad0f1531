"""The reference of the Python interface, from the sources: signatures and docstrings of the public names.

Sources are parsed rather than imported, because compiled functions have no signature.
"""

from __future__ import annotations

import ast
import inspect
from importlib.util import find_spec
from pathlib import Path

import roamcast
from roamcast import parts

INTRODUCTION = """# Python

    import roamcast as rc

These names are public: the documentation uses no others, and they stay as they are within a major version. A name is
loaded when it is first used, so that `import roamcast` takes no time. Wrong input raises `rc.InputError` with one clear
line.
"""
SECTIONS = {
    "One run": ["simulate", "Simulation", "preset", "Scenario"],
    "Many runs": ["compare", "sweep", "Study", "campaign", "open", "Laboratory", "Contrast"],
    "Real nodes": ["Node", "Subscription", "connect", "RemoteNode", "RemoteSubscription"],
    "Writing a protocol": ["Protocol", "Host", "Params", "param", "reason", "Frame", "EventFrame", "Event", "event_id"],
    "Filters": ["Filter", "parse_subscription"],
    "Testing a protocol": ["ScriptHost", "make", "round_trip"],
    "Writing a world": ["Mobility", "Leg", "walk", "rest", "end_x", "end_y", "Radio", "Mac", "Timing", "Stream"],
    "Writing a medium": ["Medium", "MediumSettings", "Sent"],
    "Logs": ["Log", "Replay", "Explanation"],
    "Errors": ["RoamcastError", "InputError"],
}
HOMES = {
    **roamcast._HOMES,
    "Contrast": "roamcast.lab.contrast",
    "Laboratory": "roamcast.lab.tables.laboratory",
    "Explanation": "roamcast.log.explanation.pair",
    "Log": "roamcast.api.logs",
    "Replay": "roamcast.api.logs",
    "RemoteNode": "roamcast.net.control.remote",
    "RemoteSubscription": "roamcast.net.control.remote",
    "ScriptHost": "roamcast.testing",
    "Subscription": "roamcast.net.node.subscription",
    "make": "roamcast.testing",
    "round_trip": "roamcast.testing",
    **{name: getattr(parts, name).__module__ for name in parts.__all__ if name not in ("DSSS", "Random")},
}
"""Also of what public functions return."""
BASES = {"Node": ("roamcast.net.node.node", "Node"), "Log": ("roamcast.log.opened", "Log")}
"""Public classes that also have the methods of another one."""


def page() -> str:
    texts = [INTRODUCTION]
    for section, names in SECTIONS.items():
        texts.append(f"## {section}\n")
        texts += [entry(name) for name in names]
    return "\n".join(texts)


def entry(name: str) -> str:
    module = HOMES[name]
    prefix = prefix_of(name)
    node = definition(module, name)
    if isinstance(node, ast.FunctionDef):
        return f"### `{prefix}{name}`\n\n```py\n{prefix}{signature(node)}\n```\n\n{text(node)}\n"
    assert isinstance(node, ast.ClassDef)
    methods = list(public(node))
    if name in BASES:
        base = definition(*BASES[name])
        assert isinstance(base, ast.ClassDef)
        methods += [method for method in public(base) if method.name not in ("start", "stop", "use", "watch")]
    listed = [f"- `{shown(method)}`{': ' + first(method) if first(method) else ''}" for method in methods]
    return "\n".join([f"### `{prefix}{name}`\n", f"{text(node)}\n", *listed, *([""] if listed else [])])


def prefix_of(name: str) -> str:
    """How a name is written behind its import; what public functions return has none."""
    if name in roamcast.__all__:
        return "rc."
    if name in parts.__all__:
        return "roamcast.parts."
    return "roamcast.testing." if HOMES[name] == "roamcast.testing" else ""


def definition(module: str, name: str) -> ast.AST:
    spec = find_spec(module)
    assert spec is not None
    package = Path(roamcast.__file__).parent.joinpath(*module.split(".")[1:])
    source = package / "__init__.py" if package.is_dir() else package.with_suffix(".py")
    tree = ast.parse(source.read_text())
    (defined,) = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == name]
    return defined


def public(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    members = [n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [member for member in members if not member.name.startswith("_")]


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    arguments = ast.unparse(node.args).removeprefix("self, ").removeprefix("self").removeprefix("cls, ")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    line = f"{node.name}({arguments}){returns}"
    if len(line) <= 100:
        return line
    inside = ",\n".join(f"    {argument}" for argument in split(arguments))
    return f"{node.name}(\n{inside},\n){returns}"


def split(arguments: str) -> list[str]:
    """At commas that are in no brackets."""
    parts, depth = [""], 0
    for sign in arguments:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def shown(method: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    decorators = [ast.unparse(decorator) for decorator in method.decorator_list]
    if "property" in decorators or "cached_property" in decorators:
        return method.name
    waiting = "await " if isinstance(method, ast.AsyncFunctionDef) else ""
    return waiting + " ".join(signature(method).split())


def text(node: ast.FunctionDef | ast.ClassDef) -> str:
    """The docstring; indented lines of it stay as they are."""
    lines = inspect.cleandoc(ast.get_docstring(node) or "").splitlines()
    return "\n".join(f"    {line}" if table_line(line) else line for line in lines)


def table_line(line: str) -> bool:
    """`start      a preset's name`: an argument and its meaning."""
    word, _, rest = line.partition("  ")
    return bool(rest.strip()) and word.isidentifier()


def first(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
