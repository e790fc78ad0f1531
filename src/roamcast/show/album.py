"""The figures' files, and figures as parts of a page.

Drawing takes most of the time of a report, so a figure whose panel has not changed since it was drawn is taken from its
file: `figures/drawn.json` has a digest of what each file shows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path

import msgspec

from roamcast import files
from roamcast.show import figures, page, palette
from roamcast.show.figures import Drawn
from roamcast.show.league import Front
from roamcast.show.markup import Html, joined, trusted
from roamcast.show.panels import Panel


def version(package: str) -> str:
    try:
        return installed(package)
    except PackageNotFoundError:
        return "not installed"


class Album:
    """The figures' files. What was drawn before is not drawn again; what is no longer shown is removed."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._index = place / "drawn.json"
        self._before: dict[str, str] = _read_index(self._index)
        self._now: dict[str, str] = {}

    def svg(self, name: str, shows: Panel | Front, draw: Callable[[], Drawn]) -> bytes:
        """The SVG of a figure, drawn if need be; its PNG lies beside it."""
        name = page.slug(name)
        digest = hashlib.blake2b(_STYLE + msgspec.json.encode(shows), digest_size=16).hexdigest()
        vector, pixels = self.place / f"{name}.svg", self.place / f"{name}.png"
        self._now[name] = digest
        if self._before.get(name) == digest and vector.exists() and pixels.exists():
            return vector.read_bytes()
        drawn = draw()
        self.place.mkdir(parents=True, exist_ok=True)
        files.write(vector, drawn.svg)
        files.write(pixels, drawn.png)
        return drawn.svg

    def panel(self, name: str, shown: Panel) -> Html:
        """A panel as a part of the page."""
        svg = self.svg(name, shown, lambda: figures.draw(shown))
        return _inline(svg, name, page.described(shown), legend=False)

    def panels(self, name: str, shown: Sequence[Panel]) -> list[Html]:
        """Those of one figure, which has one legend for all."""
        return [self.panel(name if len(shown) == 1 else f"{name}-{k}", each) for k, each in enumerate(shown, 1)]

    def front(self, name: str, shown: Front) -> Html:
        """A Pareto front as a part of the page."""
        best = ", ".join(shown.entrants[k].called for k in shown.best)
        svg = self.svg(name, shown, lambda: figures.draw_front(shown))
        return _inline(
            svg, name, f"Delivery against {shown.label}. On the front, cheapest first: {best}.", legend=False
        )

    def close(self) -> None:
        for name in self._before.keys() - self._now.keys():
            for kind in ("svg", "png"):
                (self.place / f"{name}.{kind}").unlink(missing_ok=True)
        if self._now:
            files.write(self._index, json.dumps(self._now, indent=1, sort_keys=True).encode())


def _inline(svg: bytes, name: str, alternative: str, legend: bool) -> Html:
    return trusted(figures.inline(svg, page.figure_id(name), joined(alternative), legend))


def _read_index(path: Path) -> dict[str, str]:
    try:
        index = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}  # then everything is drawn
    return index if isinstance(index, dict) else {}


def _style() -> bytes:
    """What decides how a panel looks."""
    sources = [Path(module.__file__ or "").read_bytes() for module in (figures, palette)]
    return hashlib.blake2b(b"".join([*sources, version("matplotlib").encode()])).digest()


_STYLE = _style()
