"""Golden scripts: the inputs of one node, and under each input its effects, in one readable file.

    protocol roamcast.protocols.gossip:Gossip
    params p=1.0
    let e1 = Event(event_id(7, 1), "news")

    at 1000                               time in ms; timers that are due until then expire here
    subscribe 1 topic("news")             a Python expression for the filter
    frame 3 EventFrame(e1, 10, 0)         from neighbour 3; any class of the protocol's module, tree_name
      deliver 0x700000001                 an effect

Also: start, publish EXPR, unsubscribe K, motion True, undelivered N EXPR, set host.speed_mps 3.0, crash.
With UPDATE_GOLDEN=1 in the environment the effects are updated; look at the diff before you commit it.
"""

from __future__ import annotations

import ast
import importlib
import os
from pathlib import Path
from typing import Any

import roamcast.protocols.kit.tree as tree
import roamcast.pubsub.event as events
import roamcast.pubsub.filters as filters
from roamcast.testing import ScriptHost


def replay(path: Path) -> tuple[str, str]:
    """(the script in the file, the script with its real effects)."""
    text = path.read_text()
    player = _Player()
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("  "):
            continue
        lines.append(line)
        if line.strip() and not line.startswith("#"):
            player.play(line)
            lines.extend(f"  {effect}" for effect in (player.host.take() if player.host else []))
    now = "\n".join(lines) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(now)
    return text, now


class _Player:
    def __init__(self) -> None:
        self.names: dict[str, Any] = {**vars(events), **vars(filters)}
        self.host: ScriptHost | None = None
        self.protocol: Any = None
        self.cls: Any = None

    def play(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        getattr(self, f"do_{word}")(rest.strip())

    def value(self, text: str) -> Any:
        return eval(text, self.names)

    def do_protocol(self, rest: str) -> None:
        module, _, name = rest.partition(":")
        self.names.update(vars(tree))
        self.names.update(vars(importlib.import_module(module)))
        self.cls = self.names[name]

    def do_params(self, rest: str) -> None:
        values = {k: ast.literal_eval(v) for k, v in (pair.split("=") for pair in rest.split())}
        self.host = ScriptHost()
        self.protocol = self.cls(self.host, self.cls.params_class(**values))

    def do_let(self, rest: str) -> None:
        name, _, text = rest.partition("=")
        self.names[name.strip()] = self.value(text.strip())

    def do_set(self, rest: str) -> None:
        name, _, text = rest.partition(" ")
        setattr(self.host, name.removeprefix("host."), self.value(text))

    def do_at(self, rest: str) -> None:
        self.host.advance(self.protocol, round(float(rest) * 1000))

    def do_start(self, rest: str) -> None:
        self.protocol.on_start()

    def do_publish(self, rest: str) -> None:
        self.protocol.on_publish(self.value(rest))

    def do_frame(self, rest: str) -> None:
        sender, _, text = rest.partition(" ")
        self.host.hear(self.protocol, self.value(text), int(sender))

    def do_subscribe(self, rest: str) -> None:
        key, _, text = rest.partition(" ")
        self.protocol.on_subscribe(int(key), self.value(text))

    def do_unsubscribe(self, rest: str) -> None:
        self.protocol.on_unsubscribe(int(rest))

    def do_motion(self, rest: str) -> None:
        self.protocol.on_motion(rest == "True")

    def do_undelivered(self, rest: str) -> None:
        to, _, text = rest.partition(" ")
        self.protocol.on_undelivered(self.value(text), int(to))
