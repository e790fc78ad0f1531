"""Further seeds go where they decide something, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from roamcast.judging.seeds import TIMES
from roamcast.lab import campaign as campaigns
from roamcast.lab import deciding, plan
from roamcast.lab.campaign import Campaign
from roamcast.lab.deciding import Deciding
from roamcast.lab.plan import Run
from roamcast.lab.tables import schemas
from roamcast.papers.claims import Claim
from tests.judging.test_checks import noise

CAMPAIGN = campaigns.understood(
    {
        "name": "baldoni/fig11",
        "preset": "baldoni",
        "seeds": 10,
        "protocol": [{"name": "gossip", "set": {"p": [0.3, 0.6]}}, {"name": "counter"}],
    }
)


def claim(value: float, most_seeds: int = 0, p: str = "0.3", **check: Any) -> Claim:
    spec = {"kind": "value", "experiment": CAMPAIGN.name, "metric": "delivery", "value": value, "abs": 0.05}
    where = {"label": "gossip", "p": p}
    return Claim("X1", "baldoni", "§1", "it", "0.7", [{**spec, "where": where, **check}], most_seeds=most_seeds)


def counted(run: Run, delivery: float) -> dict[str, Any]:
    empty = {name: {} for name in ("frames_by_kind", "losses_by_reason", "reasons")}
    return {**dict.fromkeys(schemas.metrics({}).names, 0), **empty, "delivery": delivery + noise(run.seed)}


def asked(*claims: Claim, seeds: int = 10, campaign: Campaign = CAMPAIGN) -> dict[int, list[int]]:
    """The further seeds of each cell, if each run delivers 0.7."""
    every = campaign.more_seeds(seeds)
    wanted = plan.runs(campaign, dict.fromkeys(range(len(campaign.cells)), every))
    further: dict[int, list[int]] = {}
    for run in Deciding(claims, [campaign])(wanted, {run.id: counted(run, 0.7) for run in wanted}):
        further.setdefault(run.place, []).append(run.seed)
    return further


def test_a_claim_that_is_decided_gets_none() -> None:
    assert asked(claim(0.7)) == {}
    assert asked(claim(0.3)) == {}


def test_an_undecided_claim_gets_about_as_many_as_it_needs_for_the_cells_it_looks_at() -> None:
    further = asked(claim(0.7435))
    assert list(further) == [0]
    assert further[0] == list(range(11, 31))  # about 26 would do, and some to spare


def test_the_limit_of_the_claim_is_kept_and_then_nothing_more_is_asked() -> None:
    assert asked(claim(0.7435, most_seeds=15)) == {0: [11, 12, 13, 14, 15]}
    assert asked(claim(0.7435, most_seeds=15), seeds=15) == {}


def test_what_no_affordable_number_decides_gets_none() -> None:
    assert asked(claim(0.748)) == {}


def test_one_question_that_stays_open_keeps_the_whole_claim_from_getting_any() -> None:
    hopeful, hopeless = claim(0.7435), claim(0.748, p="0.6")
    assert asked(hopeful) and not asked(hopeless)
    assert asked(Claim("X1", "baldoni", "§1", "it", "0.7", [*hopeful.check, *hopeless.check])) == {}


def test_seeds_are_asked_for_a_few_times_at_the_most() -> None:
    seeds, rounds = 10, 0
    while more := asked(claim(0.7435), seeds=seeds):
        seeds, rounds = seeds + len(more[0]), rounds + 1
        assert rounds < 5
    assert rounds >= 1 and seeds <= TIMES * 10


def test_several_claims_share_the_seeds_of_a_cell() -> None:
    alone = asked(claim(0.7435))
    assert asked(claim(0.7435), claim(0.7435)) == alone
    both = asked(claim(0.7435), claim(0.7435, p="0.6"))
    assert both[0] == alone[0] and both[1] == alone[0]


def test_a_claim_that_fails_for_certain_gets_none_for_its_other_questions() -> None:
    undecided, certain = claim(0.7435), claim(0.1)
    both = Claim("X1", "baldoni", "§1", "it", "0.7", [*undecided.check, *certain.check])
    assert asked(both) == {}


def test_a_claim_without_runs_of_its_own_gets_none() -> None:
    model = Claim(
        "X1",
        "baldoni",
        "§1",
        "it",
        "0.2",
        [{"kind": "model", "function": "nobody_rebroadcasts", "tau": 0.25, "eta": 5, "value": 0.9, "abs": 0.1}],
    )
    assert asked(model) == {}


@pytest.mark.parametrize(("check", "cells"), [({"where": {"label": "gossip"}}, [0, 1]), ({"where": {}}, [0, 1, 2])])
def test_the_cells_of_a_check_are_those_that_it_would_select(check: dict[str, Any], cells: list[int]) -> None:
    assert deciding.cells_of(check, CAMPAIGN) == cells
    assert deciding.cells_of({"of": {"p": "0.6"}, "to": {"label": "counter"}}, CAMPAIGN) == [1, 2]
