"""A short run of each paper's own system, to look at: simulated when the page is made, and kept beside it.

It is not one of the runs that claims are judged on. It is the same protocol in the same world, shorter, and where the
world is large, a smaller one of the same density.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec

from roamcast import files
from roamcast.errors import InputError, error_text
from roamcast.log.opened import Log
from roamcast.papers import presets
from roamcast.show.markup import Html, tag
from roamcast.show.replay import page as replaying
from roamcast.show.replay.cut import Wanted
from roamcast.world.simulate import simulate

MOST_ROWS = 60_000
"""Of a log, so that five of these make the page only a few megabytes larger."""


SMALL = """
header, #remarks { display: none; }
main { padding: 0.4rem; gap: 0.4rem; grid-template-columns: minmax(0, 1fr); grid-template-rows: auto; }
body { height: auto; overflow: auto; }
.stage canvas { height: min(92vw, 20rem); min-height: 0; flex: none; }
#deck { position: static; box-shadow: none; }
.pick { font-size: 0; }
.pick select { font-size: 0.82rem; }
@media (max-width: 24rem) {
  .pick:has(#step), .stage figcaption span:first-child { display: none; }
  #tools button { padding-inline: 0.3rem; font-size: 0.78rem; }
  #tools .icon { width: 1.9rem; }
}
#panel { grid-column: 1; grid-row: 3; display: block; }
"""
"""How the player looks in a frame: only the field, the time, and below them what was clicked."""


class Sample(msgspec.Struct, frozen=True):
    """A preset with some fields changed, and the seconds that are shown."""

    preset: str
    world: dict[str, Any]
    from_s: float
    to_s: float
    about: str


SAMPLES = {
    "baldoni": Sample("baldoni", {"duration_s": 18.0}, 9.5, 18.0, "two of a hundred drivers publish"),
    "baehni": Sample("baehni-waypoint", {"duration_s": 120.0}, 58.0, 120.0, "one event, and drivers that meet"),
    "costa": Sample(
        "costa", {"duration_s": 12.0, "publish_until_s": 11.0}, 4.5, 12.0, "two hundred sensors that stand"
    ),
    "rezende": Sample(
        "rezende", {"duration_s": 90.0, "publish_until_s": 30.0, "events": 20}, 0.0, 90.0, "a campus of walkers"
    ),
    "li": Sample(
        "li",
        {"nodes": 125, "width_m": 1000.0, "height_m": 1000.0, "duration_s": 16.0, "publish_until_s": 15.0},
        9.5,
        16.0,
        "a quarter of the community, as dense",
    ),
}


class Replay(msgspec.Struct, frozen=True):
    """A run in a frame, and the digests of the programs that play it."""

    frame: Html
    programs: list[str]


def sample(number: str, folder: Path) -> Replay | None:
    """The paper's run, played in a frame; the log and the page of it lie in the folder."""
    known = SAMPLES.get(number)
    return embedded(_page(known, folder), title(known)) if known else None


def title(known: Sample) -> str:
    return f"{presets.load(known.preset).protocol}: {known.about}"


def embedded(page: str, name: str) -> Replay:
    """A page of `roamcast replay` inside another one, loaded when it comes into sight.

    In a sandbox browsers may not draw it. The policy of the page around it lets no other program run.
    """
    caption = tag("figcaption", tag("strong", "A run. "), name, ". Click a node or an event to ask why.")
    without_icon = re.sub(r'<link rel="icon"[^>]*>', "", page)  # which the policy would not load
    small = without_icon.replace("</head>", f"<style>{SMALL}</style></head>", 1)
    frame = tag("iframe", srcdoc=small, title=f"A run: {name}", loading="lazy")
    return Replay(tag("figure", caption, frame, class_="replay"), programs(page))


def programs(page: str) -> list[str]:
    """The digests of a page's programs: what the content policy of a page around it must allow."""
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    return [f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}" for text in scripts]


def _page(known: Sample, folder: Path) -> str:
    preset = presets.load(known.preset)
    scenario = preset.scenario(known.world)
    params = preset.parameters(preset.protocol, {})
    log = folder / f"{known.preset}.parquet"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error_text(error)}") from None
    simulate(scenario, preset.protocol, params, 1, level="full", log=log, possible=False, preset=known.preset)
    text = replaying.html([Log(log)], Wanted(known.from_s, known.to_s, None, MOST_ROWS))
    files.write(folder / f"{known.preset}.html", text.encode())
    return text
