"""Few objects: small ones are merged, and merged ones again, so that 100,000 runs are some hundred objects at any pace.

The merged object is put before its parts are deleted. A reader that sees both sees rows twice, and takes one; one that
had listed a part that is gone lists again (`Ended.look`). Two processes may merge the same parts: then there are two
merged objects, which the next merge makes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow.parquet as pq

from roamcast.lab.tables.ended import Ended, Place, read_whole, rows_of
from roamcast.lab.tables.endings import DONE, LOG, Ending, Segment, fresh_name, put_endings
from roamcast.storage import Storage

AT_A_TIME = 64
"""So many objects of `done/` become one."""
LOGS_AT_A_TIME = 128
LOG_BYTES = 512 << 20
"""An object of `log/` grows no larger by merging; one of a quarter of it is large enough."""


def nothing() -> None:
    """Who has the place alone need not check it."""


def merge(storage: Storage, ended: Ended, check: Callable[[], None] = nothing) -> bool:
    """Merge what there is too much of; whether anything was. `check` raises if the place is not ours any more: it is
    called before anything is deleted."""
    changed = _merge_logs(storage, ended, check)
    for level, names in sorted(_by_level(ended.look().objects if changed else ended.objects).items()):
        if len(names) >= AT_A_TIME:
            changed |= rewrite(storage, ended, names, level + 1, check=check)
    return changed


def _by_level(names: Iterable[str]) -> dict[int, list[str]]:
    levels: dict[int, list[str]] = {}
    for name in sorted(names):
        level = name.partition("-")[0]
        if level.isdigit():
            levels.setdefault(int(level), []).append(name)
    return levels


def rewrite(
    storage: Storage,
    ended: Ended,
    names: Sequence[str],
    level: int,
    keep: Callable[[Ending], bool] = lambda _: True,
    check: Callable[[], None] = nothing,
) -> bool:
    """Make one object of these of `done/`: a row a run, and only of runs whose logs are there."""
    read = _rows(storage, names)
    if read is None:
        return False
    kept = [row for row in _valid(read, ended.places()) if keep(row)]
    if kept:
        put_endings(storage, sorted(kept, key=lambda row: row.run), fresh_name(level))
    check()
    for name in names:
        storage.delete(f"{DONE}/{name}")
    return True


def _valid(read: Sequence[Ending], places: Mapping[str, Place]) -> list[Ending]:
    """A row a run: the one that `places` is about, or its failure if it has not finished anywhere."""
    finished = {row.run: row for row in read if row.tally is not None and _place(row) == places.get(row.run)}
    failed = {row.run: row for row in read if row.failure is not None and row.run not in places}
    return [*(finished | failed).values()]


def _place(row: Ending) -> tuple[str, int, int, int]:
    return row.log or "", row.bytes, row.first, row.groups


def _rows(storage: Storage, names: Sequence[str]) -> list[Ending] | None:
    """Of objects of `done/`; None if somebody has merged one of them meanwhile, or it is damaged."""
    read: list[Ending] = []
    for name in names:
        try:
            read += rows_of(read_whole(storage, f"{DONE}/{name}"))
        except (OSError, ValueError):
            return None
    return read


# ---- logs


def _merge_logs(storage: Storage, ended: Ended, check: Callable[[], None]) -> bool:
    used = {place.log for place in ended.places().values() if place.log}
    small = [name for name, entry in ended.logs().items() if name in used and entry.size < LOG_BYTES // 4]
    changed = False
    for level, names in sorted(_by_level(small).items()):
        if len(names) >= LOGS_AT_A_TIME:
            for part in _of_size(names, ended):
                changed |= len(part) > 1 and _merge_into_one(storage, ended, part, level + 1, check)
    return changed


def _of_size(names: Sequence[str], ended: Ended) -> list[list[str]]:
    """Lists of objects that are not too large together."""
    parts: list[list[str]] = [[]]
    held = 0
    for name in names:
        size = ended.logs()[name].size
        if parts[-1] and held + size > LOG_BYTES:
            parts.append([])
            held = 0
        parts[-1].append(name)
        held += size
    return parts


def _merge_into_one(
    storage: Storage, ended: Ended, names: Sequence[str], level: int, check: Callable[[], None] = nothing
) -> bool:
    """The rows first, then the endings that say where they are now, and only then what they replace is deleted."""
    chosen = set(names)
    holders = sorted(
        name for name, seen in ended.objects.items() if any(place.log in chosen for place in seen.finished.values())
    )
    read = _rows(storage, holders)
    if read is None:
        return False
    valid = _valid(read, ended.places())
    moving = [row for row in valid if row.log in chosen]
    segment = Segment(storage, fresh_name(level))
    try:
        moved = segment.put(_copied(storage, segment, moving))
    except (OSError, ValueError):  # a damaged one is found when its rows are needed
        segment.abandon()
        return False
    staying = [row for row in valid if row.log not in chosen]
    by_level = max(int(name.partition("-")[0]) for name in holders if name[0].isdigit())
    put_endings(storage, sorted([*staying, *moved], key=lambda row: row.run), fresh_name(by_level))
    check()
    for name in holders:
        storage.delete(f"{DONE}/{name}")
    for name in names:
        storage.delete(f"{LOG}/{name}")
    return True


def _copied(storage: Storage, segment: Segment, endings: Iterable[Ending]) -> list[Ending]:
    by_object: dict[str, list[Ending]] = {}
    for ending in endings:
        by_object.setdefault(ending.log or "", []).append(ending)
    copied: list[Ending] = []
    for name, own in by_object.items():
        with storage.open(f"{LOG}/{name}") as source:
            copied += segment.copy(pq.ParquetFile(source, page_checksum_verification=True), own)
    return copied


def delete_orphans(storage: Storage, ended: Ended, older_than_s: float) -> None:
    """Objects of `log/` that no run names: their worker was killed in between."""
    used = ended.named()
    listed = storage.names(LOG)
    newest = max((entry.at_s for entry in listed.values()), default=0.0)
    for name, entry in listed.items():
        if name[0].isdigit() and "-" in name and name not in used and newest - entry.at_s >= older_than_s:
            storage.delete(f"{LOG}/{name}")
