"""Which node publishes in a run, by its world and its seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.judging import settings
from roamcast.judging.publisher import publisher
from roamcast.judging.runs import coordinate
from roamcast.log.reader import rows
from roamcast.papers import presets
from roamcast.world.simulate import simulate


def row(seed: int, reading: str = "", **world: int) -> dict[str, Any]:
    about = {"campaign": "x", "preset": "baehni-city", "reading": reading, "nodes": 15}
    return {**about, **settings.columns({}, world), "seed": seed}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_publisher_is_the_node_whose_event_is_in_the_log(seed: int, tmp_path: Path) -> None:
    scenario = presets.load("baehni-city").scenario({"duration_s": "61", "subscribers": "3"})
    log = tmp_path / "log.parquet"
    simulate(scenario, "gossip", seed=seed, level="full", log=log)
    (node,) = [line.node for line in rows(log) if line.kind == "publish"]
    assert publisher(row(seed, subscribers=3)) == node
    assert coordinate(row(seed, subscribers=3), "publisher") == str(node)


def test_another_reading_may_have_another_publisher() -> None:
    """By default one of three subscribers publishes, under the other reading any node."""
    own = [publisher(row(seed, subscribers=3)) for seed in range(1, 30)]
    others = [publisher(row(seed, "publisher-apart", subscribers=3)) for seed in range(1, 30)]
    assert own != others


def test_a_run_without_publications_has_no_publisher() -> None:
    with pytest.raises(InputError, match="no node publishes"):
        publisher(row(1, events=0))
