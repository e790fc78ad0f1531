"""One or two scenes in one file that needs nothing else: no network, no other file, no installation."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from importlib.resources import files as resources
from pathlib import Path

from roamcast import files
from roamcast.errors import InputError, error_text
from roamcast.log.opened import Log
from roamcast.show.markup import tag, trusted
from roamcast.show.replay.cut import Wanted
from roamcast.show.replay.rules import look, rules
from roamcast.show.replay.scene import Scene, scene

SCRIPTS = (
    "replay-data.js",
    "replay-run.js",
    "replay-words.js",
    "replay-stage.js",
    "replay-pointer.js",
    "replay-legend.js",
    "replay-timeline.js",
    "replay-panel.js",
    "replay-event.js",
    "replay-player.js",
    "replay-opening.js",
    "replay-live.js",
    "replay-main.js",
)
MOST_LOGS = 2


def write(logs: Sequence[Log], out: Path, wanted: Wanted | None = None, positions: Path | None = None) -> Path:
    """The page of one log, or of two on one clock."""
    return save(html(logs, wanted, positions), out)


def save(text: str, out: Path) -> Path:
    try:
        files.write(out, text.encode())
    except OSError as error:
        raise InputError(f"cannot write the page {out}: {error_text(error)}") from None
    return out


def html(logs: Sequence[Log], wanted: Wanted | None = None, positions: Path | None = None) -> str:
    if not 1 <= len(logs) <= MOST_LOGS:
        raise InputError(f"{len(logs)} logs: a page has one, or two side by side")
    wanted = wanted or Wanted()
    shared = wanted._replace(most_rows=wanted.most_rows // len(logs))  # two logs have no more room than one
    return assembled([scene(log, shared, positions) for log in logs])


def assembled(scenes: Sequence[Scene]) -> str:
    title = _title(scenes)
    blobs = [
        tag("script", trusted(base64.b64encode(each.packed()).decode()), type="text/plain", class_="run")
        for each in _alike(scenes)
    ]
    return template(title, "".join(blobs))


def _alike(scenes: Sequence[Scene]) -> list[Scene]:
    """A kind of frames has one colour in all of them."""
    kinds = dict.fromkeys(frame["kind"] for each in scenes for frame in each.texts["frames"])
    looks = {kind: look(k) for k, kind in enumerate(kinds)}
    return [
        each._replace(
            texts={**each.texts, "frames": [{**frame, **looks[frame["kind"]]} for frame in each.texts["frames"]]}
        )
        for each in scenes
    ]


def _title(scenes: Sequence[Scene]) -> str:
    """`gossip and counter on baldoni, seed 1`; runs of different worlds are named whole."""
    worlds = {str(each.texts["world"]) for each in scenes}
    names = [str(each.texts["protocol"]) for each in scenes]
    if len(worlds) == 1 and len(set(names)) > 1:
        return f"{' and '.join(names)} on {worlds.pop()}"
    return " and ".join(str(each.texts["title"]) for each in scenes)


def live(title: str) -> str:
    """The page of a running node: it gets its rows from the server that it comes from (live.py)."""
    return template(title, str(tag("div", id="live")))


def template(title: str, data: str) -> str:
    """The page with its programs; `data` are elements that hold the runs."""
    programs = "\n".join(_asset(name) for name in SCRIPTS)
    page = _asset("replay.html")
    for place, content in (
        ("{{title}}", escape(title)),
        ("{{style}}", _asset("replay.css")),
        ("{{rules}}", rules()),
        ("{{data}}", data),
        ("{{programs}}", programs),
    ):
        page = page.replace(place, content)
    return page


def _asset(name: str) -> str:
    return resources("roamcast.show").joinpath("assets", name).read_text("utf-8")
