"""Two campaigns: which cells they have in common, what differs in plan, and what in results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.judging.paired import compared, holm
from roamcast.lab.contrast import Change, Contrast, contrast
from roamcast.log.catalogue import AVERAGED

Row = dict[str, Any]
Tables = tuple[list[Row], list[Row]]


def campaign(shift: float = 0.0, credits: tuple[int, ...] = (0, 2), seeds: int = 4, **plan: Any) -> Tables:
    """Delivery rises with credits; `shift` is added where there are credits."""
    runs, metrics = [], []
    for cell, (count, seed) in enumerate((count, seed) for count in credits for seed in range(1, seeds + 1)):
        about = {
            "campaign": plan.get("name", "c"),
            "cell": cell // seeds,
            "label": "proximity",
            "p_credits": count,
            "seed": seed,
        }
        world = json.dumps({"nodes": plan.get("nodes", 50)})
        params = json.dumps({"credits": count, "beacon_s": plan.get("beacon_s", 2.0)})
        decided = {"preset": "baldoni", "reading": "", "protocol": "proximity", "level": "summary", "code": "1"}
        runs.append({**about, **decided, "scenario": world, "all_params": params})
        delivery = 0.5 + 0.1 * count + 0.01 * seed * seed + (shift * (1 + 0.1 * seed) if count else 0.0)
        mark = f"{count} {seed} {shift if count else 0}"
        metrics.append({**dict.fromkeys(AVERAGED), **about, "delivery": delivery, "fingerprint": mark})
    return runs, metrics


def of(before: Tables, after: Tables, *metrics: str) -> Contrast:
    return contrast(before, after, metrics or ("delivery",))


def test_the_same_campaign_twice_differs_in_nothing() -> None:
    result = of(campaign(), campaign(name="other"))
    assert (result.changes, result.only_before, result.only_after) == ([], [], [])
    assert [(row["n"], row["same"], row["difference"], row["pvalue_holm"]) for row in result.rows] == [
        (4, 4, 0.0, 1.0)
    ] * 2


def test_differences_are_after_minus_before_by_seed_and_corrected_together() -> None:
    result = of(campaign(), campaign(shift=0.02))
    plain, changed = result.rows
    assert (plain["name"], plain["same"]) == ("proximity credits=0", 4)
    assert (changed["name"], changed["same"], changed["n"]) == ("proximity credits=2", 0, 4)
    expected = compared([0.02 * (1 + 0.1 * seed) for seed in (1, 2, 3, 4)])
    assert changed["difference"] == pytest.approx(expected["difference"])
    assert changed["after"] - changed["before"] == pytest.approx(changed["difference"])
    assert changed["pvalue"] == pytest.approx(expected["pvalue"], rel=1e-6)
    assert [row["pvalue_holm"] for row in result.rows] == holm([row["pvalue"] for row in result.rows])


def test_cells_are_found_by_label_and_settings_wherever_they_stand() -> None:
    result = of(campaign(credits=(0, 1, 2)), campaign(credits=(2, 5, 0)))
    assert [row["name"] for row in result.rows] == ["proximity credits=0", "proximity credits=2"]
    assert (result.only_before, result.only_after) == (["proximity credits=1"], ["proximity credits=5"])
    assert all(row["difference"] == 0.0 for row in result.rows)


def test_what_differs_in_plan_is_named_also_where_no_file_names_it() -> None:
    result = of(campaign(), campaign(nodes=60, beacon_s=4.0, seeds=6))
    assert result.changes == [
        Change("world.nodes", "50", "60", 2),
        Change("beacon_s", "2", "4", 2),
        Change("seeds", "1-4", "1-6", 2),
    ]
    assert {row["n"] for row in result.rows} == {4}


def test_campaigns_without_a_common_cell_and_unknown_metrics_give_one_line() -> None:
    with pytest.raises(InputError, match="no cell in common"):
        of(campaign(credits=(0,)), campaign(credits=(1,)))
    with pytest.raises(InputError, match="unknown metric 'delivry'"):
        of(campaign(), campaign(), "delivry")


def test_a_campaign_of_several_is_found_also_where_the_others_are_missing() -> None:
    one, two = campaign(name="one"), campaign(name="two", shift=0.02)
    both = (one[0] + two[0], one[1] + two[1])
    unfinished = of(both, (both[0], one[1]))  # all runs of the second have failed
    assert [(row["campaign"], row["difference"]) for row in unfinished.rows] == [("one", 0.0)] * 2
    alone = of(both, one)
    assert len(alone.rows) == 2 and alone.only_before == ["proximity credits=0", "proximity credits=2"]
