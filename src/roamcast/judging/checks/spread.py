"""How far runs lie apart: the best of a group minus its worst."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from roamcast.errors import NoData
from roamcast.judging.answers import Answer, estimated, judged
from roamcast.judging.checks.levels import slack
from roamcast.judging.runs import Spec, mean, samples, selected, split
from roamcast.judging.words import question
from roamcast.log.metric import Row


def spread(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """The difference between the best and the worst of each group."""
    groups = _groups(spec, selected(rows, spec["where"]))
    spreads = [max(group) - min(group) for group in groups]
    wanted, tolerance = float(spec["value"]), slack(spec)
    low, high = wanted - tolerance, wanted + tolerance
    answer = judged(question(spec), estimated(spreads, alpha), low, high, float(np.mean(spreads)))
    return [msgspec.structs.replace(answer, needs=None)]  # only more groups would help, not more seeds in each


def _groups(spec: Spec, rows: list[Row]) -> list[list[float]]:
    """The values of all seeds that share a coordinate, or of every `block` seeds that follow each other."""
    if "by" in spec:
        return [_members(spec, group) for group in split(rows, spec["by"]).values()]
    values = [*samples(rows, spec["metric"]).values()]
    size = int(spec["block"])
    blocks = [values[at : at + size] for at in range(0, len(values) - size + 1, size)]
    if not blocks:
        raise NoData(f"{len(values)} seeds; the check needs {size}")
    return blocks


def _members(spec: Spec, group: list[Row]) -> list[float]:
    """The values compared within a group: its seeds, or the means of seeds that share another coordinate."""
    if "each" not in spec:
        return [*samples(group, spec["metric"]).values()]
    return [mean(samples(rows, spec["metric"])) for rows in split(group, spec["each"]).values()]
