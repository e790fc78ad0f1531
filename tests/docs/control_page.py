"""The page on the control protocol, from the classes of its messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, get_args

import msgspec

from roamcast.net.control import messages
from roamcast.net.host import status as host_status
from roamcast.net.keep import store
from roamcast.net.node import status as node_status
from tests.docs.pages import ROOT

INTRODUCTION = f"""
How programs talk to a node on their machine, in any language ([examples](../how-to/use-another-language.md)). The node
listens on the Unix socket `control` in its state folder, which only its owner can open. A request is a JSON object in
one line, of at most {messages.REQUEST_MAX:,} bytes, whose field `do` says what it is. A reply is the same, with the
field `reply`. Replies come in the order of the requests. After `subscribe`, a connection carries that subscription and
nothing else. At most 64 connections are open at a time.

This is version {messages.VERSION}, which `hello` asks for. It rises when a client of the version before would
misunderstand something. Within a version, requests and replies may get new fields: ignore fields that you do not know.
A request that is wrong gets `error`, and the connection goes on. If a subscription fails, because the node's disk does,
the connection gets `error` and ends: subscribe again.
"""
EXAMPLE = [
    (True, {"do": "hello", "version": 1}),
    (False, {"reply": "hello", "version": 1, "program": "roamcast 0.1.0", "node": 797253083, "group": "5d0c2a8e"}),
    (True, {"do": "publish", "topic": "weather.roof", "attrs": {"temperature": 31.5}, "validity_s": 60}),
    (False, {"reply": "published", "id": 3424175917968326657}),
    (True, {"do": "subscribe", "filter": "temperature > 30", "name": "alarm", "acknowledge": True}),
    (False, {"reply": "subscribed", "subscribed": "temperature > 30"}),
    (
        False,
        {
            "reply": "event",
            "id": 7230871237189632001,
            "publisher": 1683569001,
            "topic": "weather.hall",
            "attrs": {"temperature": 33.0},
            "payload": "aG90",
            "validity_s": None,
            "position": 17,
        },
    ),
    (True, {"do": "ack", "position": 17}),
    (False, {"reply": "error", "error": "the node has stopped"}),
]
TYPES = {
    msgspec.inspect.StrType: "text",
    msgspec.inspect.IntType: "whole number",
    msgspec.inspect.FloatType: "number",
    msgspec.inspect.BoolType: "true or false",
    msgspec.inspect.BytesType: "text, base64",
    msgspec.inspect.NoneType: "null",
}


def page(made: str, table: Any) -> str:
    text = f"# The control protocol, version {messages.VERSION}\n\n{made}{INTRODUCTION}\n## A conversation\n\n"
    text += "`>` is the program, `<` the node.\n\n```text\n"
    text += "".join(f"{'>' if asked else '<'} {json.dumps(message)}\n" for asked, message in EXAMPLE) + "```\n"
    for title, union in (("Requests", messages.Request), ("Replies", messages.Reply)):
        text += f"\n## {title}\n"
        for kind in get_args(union):
            text += section(kind, table)
    return text + status_section(table)


def section(kind: Any, table: Any) -> str:
    about = " ".join(kind.__doc__.split())
    text = f"\n### {kind.__struct_config__.tag}\n\n{about}\n"
    if kind is messages.StatusReply:
        return text + "Its fields are [below](#status-of-a-node).\n"
    rows = [row(field) for field in msgspec.inspect.type_info(kind).fields]  # type: ignore[attr-defined]
    return text + ("\n" + table(["field", "type", "default", "what it is"], rows) if rows else "")


def row(field: Any) -> list[str]:
    about = field.type.extra_json_schema["description"] if isinstance(field.type, msgspec.inspect.Metadata) else ""
    kind = field.type.type if isinstance(field.type, msgspec.inspect.Metadata) else field.type
    default = "" if field.default is msgspec.NODEFAULT else json.dumps(field.default if field.default != b"" else "")
    if field.default_factory is not msgspec.NODEFAULT:
        default = json.dumps(field.default_factory())
    return [f"`{field.name}`", shown(kind), f"`{default}`" if default else "", about]


def shown(kind: Any) -> str:
    if isinstance(kind, msgspec.inspect.UnionType):
        return " or ".join(dict.fromkeys(shown(one) for one in kind.types))
    if isinstance(kind, msgspec.inspect.DictType):
        return "object"
    if isinstance(kind, msgspec.inspect.ListType | msgspec.inspect.VarTupleType):
        return f"list of {shown(kind.item_type)}"
    if isinstance(kind, msgspec.inspect.StructType):
        return f"[{kind.cls.__name__}](#{kind.cls.__name__.lower()})"
    if isinstance(kind, msgspec.inspect.TupleType | msgspec.inspect.NamedTupleType):
        return "list"
    return TYPES[type(kind)]


# ---- status: what its fields mean is in comments


def status_section(table: Any) -> str:
    text = "\n## Status of a node\n\n"
    kinds = [messages.StatusReply, host_status.MediumStatus, host_status.Neighbour]
    for kind in [*kinds, node_status.NamedStatus, store.StoreCounts]:
        if kind is not messages.StatusReply:
            text += f"\n### {kind.__name__}\n\n"
        fields = msgspec.inspect.type_info(kind).fields  # type: ignore[attr-defined]
        rows = [[f"`{f.name}`", shown(f.type), COMMENTS.get(f.name, "")] for f in fields]
        text += table(["field", "type", "what it is"], rows)
    return text


def comments(modules: Iterable[str]) -> dict[str, str]:
    """What stands behind fields in the sources, by name."""
    meanings: dict[str, str] = {}
    for module in modules:
        source = (ROOT / "src" / module).with_suffix(".py").read_text()
        meanings |= dict(re.findall(r"^    (\w+): [\w\[\], .]+  # (.*)$", source, re.MULTILINE))
    return meanings


COMMENTS = comments(["roamcast/net/host/status", "roamcast/net/node/status", "roamcast/net/keep/store"])
