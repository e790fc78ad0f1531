"""`roamcast.parts`: what people import who write a mobility, a radio or a MAC."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import roamcast.parts
from roamcast import Scenario
from roamcast.parts import Leg, Stream, end_x, end_y, rest, walk
from roamcast.world.parts import PARTS

NAMES = [
    *("DSSS", "Leg", "Mac", "Medium", "MediumSettings", "Mobility", "Radio", "Random", "Sent", "Stream", "Timing"),
    *("end_x", "end_y", "rest", "walk"),
]
METHODS = {
    "Mobility": {"first": ["node", "stream"], "next": ["node", "leg", "stream"]},
    "Radio": {
        "strength": ["sender", "receiver", "distance_m", "range_m"],
        "farthest": ["range_m"],
        "sensed_from": ["range_m", "sensed_m"],
    },
    "Mac": {
        "timing": [],
        "eifs_us": [],
        "begin": ["node", "left", "busy", "window", "random"],
        "after": ["node", "window", "random"],
    },
}


MEDIUM = {
    "__init__": ["settings"],
    "open": ["receive"],
    "close": [],
    "send": ["datagram", "to"],
    "up": [],
    "delay_s": ["size"],
    "place": [],
    "shown": ["address"],
    "prefer": ["known"],
    "unread": [],
}


def test_the_public_names_are_these() -> None:
    assert sorted(roamcast.parts.__all__) == NAMES
    for name in NAMES:
        assert hasattr(roamcast.parts, name)


@pytest.mark.parametrize("name", [name for name in NAMES if name[0].isupper() and name not in ("DSSS", "Random")])
def test_each_class_is_documented(name: str) -> None:
    assert len(getattr(roamcast.parts, name).__doc__) > 20


@pytest.mark.parametrize("name", METHODS)
def test_what_a_class_can_override_does_not_change_unnoticed(name: str) -> None:
    """From the source: compiled methods have no signature."""
    assert methods(name) == {"__init__": ["scenario", "params", "seed"], **METHODS[name]}


def test_what_a_medium_can_override_does_not_change_unnoticed() -> None:
    assert methods("Medium") == MEDIUM


def methods(name: str) -> dict[str, list[str]]:
    module = getattr(roamcast.parts, name).__module__
    source = Path(roamcast.__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py")
    (base,) = [n for n in ast.parse(source.read_text()).body if isinstance(n, ast.ClassDef) and n.name == name]
    return {n.name: [a.arg for a in n.args.args[1:]] for n in base.body if isinstance(n, ast.FunctionDef)}


def test_each_base_is_the_one_that_names_are_checked_against() -> None:
    assert {part.public for part in PARTS.values()} == {f"roamcast.parts.{name}" for name in METHODS}
    for part in PARTS.values():
        module, _, name = part.base.partition(":")
        assert getattr(roamcast.parts, name).__module__ == module


@pytest.mark.parametrize("name", METHODS)
def test_a_class_need_not_have_an_init(name: str) -> None:
    base = getattr(roamcast.parts, name)
    mine = type("Mine", (base,), {})
    assert isinstance(mine(Scenario(), base.params_class(), 1), base)


def test_legs_are_walked_and_rested() -> None:
    leg = walk(2.0, 0.0, 0.0, 30.0, 40.0, 5.0)
    assert (leg.vx, leg.vy, leg.end_s) == (3.0, 4.0, 12.0)
    pause = rest(leg.end_s, end_x(leg), end_y(leg), 15.0)
    assert isinstance(pause, Leg)
    assert (pause.x, pause.y, end_x(pause), end_y(pause)) == (30.0, 40.0, 30.0, 40.0)


def test_a_stream_gives_the_same_numbers_for_the_same_name() -> None:
    assert Stream(1, 2, "walls").random() == Stream(1, 2, "walls").random() != Stream(1, 3, "walls").random()
