"""Links from files: measured link tables (`radio = "table"`) and contact lists (`mobility = "contacts"`).

A link table is a CSV file, perhaps gzipped, with the columns src, dst and pdr (share of frames that arrive), and
perhaps mean_rssi (dBm) and tx_count; a first line of JSON, as in K7 traces, is skipped. Several rows for one link are
averaged, weighted with tx_count. A link whose pdr is 0 does not exist.

With `radio = "lora"` such a table overrides what the law says about the links in it, and the law still holds for all
others. A link without mean_rssi is as strong as the law says, or just strong enough where the law has none. There, src
and dst may be ids of the list of nodes (`positions`). Numbers count from 0, unless ids of the list are numbers, too.

Contacts come from any file of contacts that `roamcast.world.traces` reads; 0 s of the run is the beginning of that
trace.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from io import TextIOWrapper
from math import inf, isfinite, isnan
from pathlib import Path
from typing import Final

from roamcast.errors import InputError, error_text
from roamcast.world import node_list
from roamcast.world.contacts.neighbourhood import Neighbourhood
from roamcast.world.contacts.scheduled import ScheduledContacts
from roamcast.world.faults import Faults
from roamcast.world.radio.lora import Lora
from roamcast.world.radio.table import Table
from roamcast.world.scenario import Scenario
from roamcast.world.traces import load

LEAST_DBM: Final = -200.0
MOST_DBM: Final = 50.0
MOST_FRAMES: Final = 1e15


class Link:
    """Sums over the rows of one link."""

    def __init__(self) -> None:
        self.weight = 0.0
        self.arrived = 0.0
        self.signal = 0.0


def read_table(path: str) -> dict[tuple[int, int], tuple[float, float]]:
    """(src, dst) -> (pdr, mean rssi in dBm), of the links that exist."""
    return _some(path, {pair: link for pair, link in read_measured(path).items() if link[0] > 0})


def _some(path: str, links: dict[tuple[int, int], tuple[float, float]]) -> dict[tuple[int, int], tuple[float, float]]:
    if not links:
        raise InputError(f"links={path}: no link in it; it needs rows of src, dst and a pdr above 0")
    return links


def read_measured(path: str, names: dict[str, int] | None = None) -> dict[tuple[int, int], tuple[float, float]]:
    """The same of all links that were measured, also of those over which nothing came. `names` are ids of nodes."""
    links: dict[tuple[int, int], Link] = {}
    for number, row in enumerate(_table_rows(path), start=1):
        if names:
            row = {**row, **{end: _number_of(path, number, end, row.get(end), names) for end in ("src", "dst")}}
        try:
            pair = int(row["src"]), int(row["dst"])
            weight = float(row.get("tx_count") or 1.0)
            pdr, signal = float(row["pdr"]), float(row.get("mean_rssi") or "nan")
        except (KeyError, ValueError, TypeError):
            raise InputError(f"links={path}: row {number} needs src, dst and pdr as numbers") from None
        for name, value, low, high in (
            ("src", pair[0], 0.0, inf),
            ("dst", pair[1], 0.0, inf),
            ("tx_count", weight, 0.0, MOST_FRAMES),
            ("pdr", pdr, 0.0, 1.0),
            ("mean_rssi", LEAST_DBM if isnan(signal) else signal, LEAST_DBM, MOST_DBM),
        ):
            if not low <= value <= high:
                bounds = "must not be negative" if high == inf else f"must be between {low:g} and {high:g}"
                raise InputError(f"links={path}: row {number} has {name}={value:g}, which {bounds}")
        link = links.setdefault(pair, Link())
        link.weight += weight
        link.arrived += weight * pdr
        link.signal += weight * signal
    return {p: (k.arrived / k.weight, k.signal / k.weight) for p, k in sorted(links.items()) if k.weight > 0}


def _number_of(path: str, number: int, end: str, name: str | None, names: dict[str, int]) -> str:
    """The number of the node with that name. Where no id is a number, numbers are those of rows."""
    name = (name or "").strip()
    if name in names:
        return str(names[name])
    if name.isdigit() and not any(known.isdigit() for known in names):
        return name
    raise InputError(f"links={path}: row {number} has {end}={name or 'nothing'}, which is no id of the list of nodes")


def _measured(s: Scenario) -> dict[tuple[int, int], tuple[float, float]]:
    listed = node_list.read(s.positions) if s.positions else []
    return _some(s.links, read_measured(s.links, {node.id: k for k, node in enumerate(listed) if node.id}))


def neighbourhood(s: Scenario) -> Neighbourhood:
    """The links of the table; they never change."""
    table = read_table(s.links)
    _check_nodes(s, table)
    static = Neighbourhood(s.nodes)
    for i, j in table:
        if i != j:
            static.hearers.put(i, j, True)
    return static


def wire(s: Scenario, radio: Table, faults: Faults) -> None:
    """Give every measured link its loss and its signal strength."""
    for (i, j), (pdr, signal) in read_table(s.links).items():
        faults.link_loss[i << 20 | j] = 1.0 - pdr
        radio.links[i << 20 | j] = signal


def connect(s: Scenario, moving: Neighbourhood) -> None:
    """The measured links of LoRa radios, which nodes that stand have whatever the law says."""
    table = _measured(s)
    _check_nodes(s, table)
    for (i, j), (pdr, _) in table.items():
        for node in (i, j):
            if moving.leg_end(node) < inf:
                raise InputError(f"links={s.links}: node {node} moves, so that its links cannot have been measured")
        if i != j:
            moving.hearers.put(i, j, pdr > 0)


def override(s: Scenario, radio: Lora, faults: Faults) -> None:
    """Give these links the strength and the loss that were measured."""
    for (i, j), (pdr, signal_dbm) in _measured(s).items():
        if isfinite(signal_dbm):
            radio.links[i << 20 | j] = max(1.0, 10.0 ** ((signal_dbm - radio.sensitivity_dbm) / 10.0))
        else:
            radio.heard[i << 20 | j] = True
        if pdr < 1.0:
            faults.link_loss[i << 20 | j] = 1.0 - pdr


def _check_nodes(s: Scenario, table: dict[tuple[int, int], tuple[float, float]]) -> None:
    most = max(max(pair) for pair in table)
    if most >= s.nodes:
        raise InputError(f"nodes={s.nodes}: links={s.links} has node {most}, so nodes must be at least {most + 1}")


def contacts(s: Scenario) -> Neighbourhood:
    """Nodes are counted in the natural order of their names in the file."""
    names, met = load.contacts(s.trace)
    if len(names) > s.nodes:
        raise InputError(f"nodes={s.nodes}: trace={s.trace} has {len(names)} nodes")
    changes: list[tuple[float, int, int, bool]] = []
    for i, j, start_us, end_us in met:
        if start_us < end_us:  # a contact needs a length
            changes.append((start_us / 1e6, i, j, True))
            changes.append((end_us / 1e6, i, j, False))
    changes.sort(key=lambda change: (change[0], change[3], change[1], change[2]))
    return ScheduledContacts(s.nodes, changes)


def _table_rows(path: str) -> Iterator[dict[str, str]]:
    lines = _lines(path)
    first = next(lines, "")
    header = next(lines, "") if first.lstrip().startswith("{") else first
    yield from csv.DictReader(lines, fieldnames=[name.strip() for name in header.split(",")])


def _lines(path: str) -> Iterator[str]:
    try:
        with _open(path) as file:
            yield from file
    except OSError as error:
        raise InputError(f"links={path}: cannot be read ({error_text(error)})") from None
    except (UnicodeDecodeError, EOFError, zlib.error):
        raise InputError(f"links={path}: is not readable text") from None


def _open(path: str) -> TextIOWrapper:
    if path.endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8")
    return Path(path).open(encoding="utf-8")
