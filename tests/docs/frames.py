"""What every protocol's frames are made of, read from the checks that their `from_fields` makes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from roamcast.protocols.kit.interface import Frame, Protocol
from tests.docs.pages import ROOT

CHECKS = {"as_float": "number", "as_bytes": "bytes", "event_from_fields": "event", "filter_from_fields": "filter"}
LIST_MAX = 4096
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@cache
def source(module: str) -> ast.Module:
    """From the file: a compiled module does not keep its source. Every node knows the one it is in."""
    tree = ast.parse((ROOT / "src" / f"{module.replace('.', '/')}.py").read_text())
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.parent = node  # type: ignore[attr-defined]
    return tree


def parent(node: ast.AST) -> ast.AST:
    above: ast.AST = node.parent  # type: ignore[attr-defined]
    return above


def definition(module: str, name: str) -> Any:
    return next(node for node in source(module).body if getattr(node, "name", "") == name)


class Checks:
    """Which checks a function makes of a name, and so what that is."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.globals = vars(import_module(module))

    def of(self, scope: ast.AST, name: str) -> str:
        kinds = [self.by_call(call) for call in calls_with(scope, name)]
        kinds += ["truth value" for node in ast.walk(scope) if text(node) == f"type({name}) is not bool"]
        nil = any(text(node) == f"{name} is None" for node in ast.walk(scope))
        distinct = dict.fromkeys(kind for kind in kinds if kind)
        return " or ".join([*(distinct or [self.parts(scope, name)]), *(["nil"] if nil else [])])

    def by_call(self, call: ast.Call) -> str:
        function = text(call.func)
        if function in CHECKS:
            return CHECKS[function]
        if function == "as_int":
            low, high = (self.value(call, at, default) for at, default in ((1, 0), (2, (1 << 63) - 1)))
            return f"{short(low)} … {short(high)}"
        if function == "as_list":
            return self.listed(call)
        helper_function = self.globals.get(function)
        if not inspect.isroutine(helper_function) or helper_function.__module__ == "roamcast.protocols.kit.wire":
            return ""
        helper = definition(helper_function.__module__, function)
        return Checks(helper_function.__module__).of(helper, helper.args.args[0].arg)

    def value(self, call: ast.Call, at: int, default: int) -> int:
        return default if len(call.args) <= at else int(eval(text(call.args[at]), dict(self.globals)))

    def listed(self, call: ast.Call) -> str:
        """By what becomes of the list: it is gone through, taken apart, or given a name."""
        around = parent(call)
        most = f"at most {self.value(call, 1, LIST_MAX)}"
        if isinstance(around, ast.comprehension):
            return f"list of {most}: {self.of(parent(around), text(around.target))}"
        if isinstance(around, ast.For):
            return f"list of {most}: {self.of(around, text(around.target))}"
        if isinstance(around, ast.Call):  # counted(as_list(…), n)
            unpacked = parent(around)
            if isinstance(unpacked, ast.Assign):
                scope = enclosing(unpacked)
                return "[" + ", ".join(f"{n} {self.of(scope, n)}" for n in names(unpacked.targets[0])) + "]"
            return f"list with {self.parts(enclosing(around), text(call.args[0]))}"
        assert isinstance(around, ast.Assign)
        return f"list of {most}: {self.parts(enclosing(around), text(around.targets[0]))}"

    def parts(self, scope: ast.AST, name: str) -> str:
        """Of a list that is taken apart by places: [0] the first, [1:] all others, [0::2] every other one."""
        checked: dict[str, str] = {}
        for node in ast.walk(scope):
            if isinstance(node, ast.Subscript) and text(node.value) == name:
                around, place = parent(node), text(node.slice)
                place = {"at": "0::2", "at + 1": "1::2"}.get(place, place)  # in loops that go on by two
                if isinstance(around, ast.Call):
                    checked[place] = self.by_call(around)
                elif isinstance(around, ast.comprehension):
                    checked[place] = self.of(parent(around), text(around.target))
        if not checked:
            raise LookupError(f"{self.module}: nothing checks {name}")
        return ", ".join(f"[{place}] {checked[place]}" for place in sorted(checked))


def text(node: ast.AST) -> str:
    return ast.unparse(node)


def names(target: ast.AST) -> list[str]:
    return [text(entry) for entry in target.elts] if isinstance(target, ast.Tuple) else [text(target)]


def enclosing(node: ast.AST) -> ast.AST:
    """The loop or the function around it, in which names mean one thing."""
    while not isinstance(node, ast.For | ast.FunctionDef):
        node = parent(node)
    return node


def calls_with(scope: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and node.args and text(node.args[0]) == name:
            yield node


def short(n: int) -> str:
    for power, rest in ((n, ""), (n + 1, " − 1")):
        if n >= 1 << 16 and power & (power - 1) == 0:
            return "2" + str(power.bit_length() - 1).translate(SUPERSCRIPTS) + rest
    return str(n).replace("-", "−")


def fields(frame: type[Frame]) -> list[str]:
    """`name: what it is`, in the order in which they travel."""
    function = next(
        n for n in definition(frame.__module__, frame.__name__).body if getattr(n, "name", "") == "from_fields"
    )
    checks, by_place = Checks(frame.__module__), {}
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        first, _, rest = text(node.args[0]).partition("[")
        if first != "fields":
            continue
        start = int(rest.partition(":")[0] or 0)
        taken = parent(node)
        if isinstance(taken, ast.Subscript):  # the only one
            by_place[start] = [f"`{text(parent(taken).func).partition('_')[0]}`: {checks.by_call(parent(taken))}"]  # type: ignore[attr-defined]
        elif isinstance(taken, ast.Assign):
            where, scope = checks, function
            if text(node.func) != "counted":
                module = checks.globals[text(node.func)].__module__
                where, scope = Checks(module), definition(module, text(node.func))
            by_place[start] = [f"`{name}`: {where.of(scope, name)}" for name in names(taken.targets[0])]
    return [one for start in sorted(by_place) for one in by_place[start]]


def kind(frame: type[Frame]) -> str:
    """What the log calls it."""
    for base in frame.__mro__[:-2]:
        for node in ast.walk(definition(base.__module__, base.__name__)):
            if (
                isinstance(node, ast.Call)
                and text(node.func) == "super().__init__"
                and isinstance(node.args[0], ast.Constant)
            ):
                return str(node.args[0].value)
            if isinstance(node, ast.Assign) and text(node.targets[0]) == "self.kind":
                return str(ast.literal_eval(node.value))
    raise LookupError(frame.__name__)


def rows(protocol: type[Protocol]) -> list[list[str]]:
    return [
        [str(code), kind(frame), "; ".join(fields(frame)) or "none", meaning(frame)]
        for code, frame in enumerate(protocol.frames)
    ]


def meaning(frame: type[Frame]) -> str:
    docstring = ast.get_docstring(definition(frame.__module__, frame.__name__)) or ""
    return " ".join(docstring.partition("\n\n`masks`")[0].split())
