"""Mobility, radios and MACs by name: roamcast's own, those of other packages, and any class as module:Class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from roamcast.errors import InputError
from roamcast.log.writer import LogSink
from roamcast.world import air, mac, mobility, radio
from roamcast.world.assembly import build
from roamcast.world.parts import MAC, MOBILITY, PARTS, RADIO, changed, flat, folded
from roamcast.world.scenario import Scenario, with_values
from roamcast.world.simulate import simulate
from tests.world.outside import Dsss, Shuttle

HERE = "tests.world.outside"
SMALL: dict[str, Any] = {"nodes": 40, "width_m": 400.0, "height_m": 400.0, "duration_s": 8.0, "subscribers": 20}
SMALL |= {"publishers": 5, "rate_hz": 4.0}


def small(**changes: Any) -> Scenario:
    return Scenario(**(SMALL | changes))


def run(protocol: str = "gossip", **changes: Any) -> str:
    return simulate(small(**changes), protocol, seed=3).fingerprint


# ---- their effects


def test_a_mobility_from_outside_moves_nodes_like_a_built_in_one() -> None:
    assert run(mobility=f"{HERE}:Scattered") == run(mobility="static")


def test_a_radio_from_outside_gives_frames_the_same_strength_as_a_built_in_one() -> None:
    for changes in ({}, {"carrier_sense_ratio": 2.0}, {"mac": "ideal"}):
        assert run(radio=f"{HERE}:InverseSquare", **changes) == run(radio="free-space", **changes)
    assert run(radio="free-space") != run(radio="disc")


@pytest.mark.parametrize("protocol", ["gossip", "subtree"])
def test_a_mac_from_outside_backs_off_like_a_built_in_one(protocol: str) -> None:
    """subtree also sends frames for one neighbour, whose repetitions have larger windows."""
    assert run(protocol, mac=f"{HERE}:Dsss") == run(protocol, mac="dcf")


def test_a_mac_may_count_only_the_silence_after_a_frame_came() -> None:
    assert run(mac=f"{HERE}:Mote", rate_bps=19_200.0) == run(mac="tinyos", rate_bps=19_200.0)


def test_a_mac_may_do_without_a_shared_medium() -> None:
    world = build(small(mac=f"{HERE}:Alone"), 1, "summary", LogSink())
    assert type(air.build(world.medium, False)).__name__ == "IdealAir"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"radio": f"{HERE}:Sick"}, f"radio={HERE}:Sick: a strength of -1.0; it must be a number of at least 0"),
        ({"mac": f"{HERE}:Impatient"}, f"mac={HERE}:Impatient: a back-off of -1 slots; it must be a number from 0"),
        ({"radio": f"{HERE}:Endless"}, f"radio={HERE}:Endless: farthest is inf m; it must be a number above 0"),
        ({"mac": f"{HERE}:Hasty"}, f"mac={HERE}:Hasty: slot_us=0; a slot must last"),
        ({"mac": f"{HERE}:Backwards"}, f"mac={HERE}:Backwards: eifs_us is -1; it must be at least 0"),
        ({"mac": f"{HERE}:Unsure"}, "timing: slot_us=9.5: must be a whole number of at least 0"),
        (
            {"mobility": f"{HERE}:Jumping"},
            "mobility: the leg of node 0 at 1.0 s from (5.0, 0.0) does not follow the one",
        ),
        (
            {"mobility": f"{HERE}:Stuck"},
            "mobility: a leg of node 0 from 1.0 to 1.0 s at (0.0, 0.0) m/s; a leg must last",
        ),
    ],
)
def test_impossible_parts_are_refused_in_one_line(changes: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        run(**changes)
    assert str(caught.value).startswith(message)


# ---- their parameters


def test_parameters_of_a_part_change_the_world() -> None:
    slow = small(mobility=f"{HERE}:Shuttle", mobility_set={"speed_mps": 2})
    assert slow.mobility_set == {"speed_mps": 2.0}
    motion = build(slow, 1, "summary", LogSink()).medium.motion
    assert motion.speed(0) == pytest.approx(2.0)
    fast = build(small(mobility=f"{HERE}:Shuttle"), 1, "summary", LogSink()).medium.motion
    assert fast.speed(0) == pytest.approx(5.0)


def test_parameters_are_typed_with_the_name_of_their_part() -> None:
    typed = with_values(SMALL, {"mobility": f"{HERE}:Shuttle", "mobility.lanes": "7"})
    assert typed == small(mobility=f"{HERE}:Shuttle", mobility_set={"lanes": 7})


def test_one_typed_parameter_leaves_the_others_of_a_preset() -> None:
    assert folded({"mobility_set": {"a": 1, "b": 2}, "mobility.b": 3, "nodes": 4}) == {
        "mobility_set": {"a": 1, "b": 3},
        "nodes": 4,
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mobility": "waypont"}, "unknown mobility 'waypont'; did you mean 'waypoint'?"),
        ({"radio": "dics"}, "unknown radio 'dics'; did you mean 'disc'?"),
        ({"mac": "csma:"}, "mac 'csma:': must be a name or module:Class"),
        ({"mac": f"{HERE}:NoPart"}, f"mac '{HERE}:NoPart': {HERE}:NoPart is not a subclass of roamcast.parts.Mac"),
        ({"radio": f"{HERE}:Dsss"}, f"radio '{HERE}:Dsss': {HERE}:Dsss is not a subclass of roamcast.parts.Radio"),
        ({"mobility": "no_such_module:X"}, "mobility 'no_such_module:X' cannot be loaded: No module named"),
        ({"mobility": 5}, "mobility=5: must be a text"),
        ({"mobility_set": {"lanes": 2}}, "mobility.lanes=2: mobility=waypoint has no parameters of its own"),
        (
            {"mobility": f"{HERE}:Shuttle", "mobility_set": {"lanes": 0}},
            "mobility.lanes=0: must be a whole number of at least",
        ),
        (
            {"mobility": f"{HERE}:Shuttle", "mobility_set": {"lane": 1}},
            f"mobility.lane=1: mobility={HERE}:Shuttle has no such parameter; did you mean 'lanes'?",
        ),
        (
            {"mobility": f"{HERE}:Scattered", "mobility_set": {"lane": 1}},
            f"mobility.lane=1: mobility={HERE}:Scattered has no such parameter; it has none",
        ),
        ({"mobility_set": 5}, "mobility_set=5: must be a table of parameters"),
    ],
)
def test_a_wrong_part_gets_one_clear_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        small(**changes)
    assert str(caught.value).startswith(message)


def test_a_class_that_cannot_be_made_gets_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd_part.py").write_text(
        "from roamcast.parts import Mobility\nclass Odd(Mobility):\n    def __init__(self): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"^mobility 'odd_part:Odd' cannot be made: .*takes 1 positional argument"):
        run(mobility="odd_part:Odd")


def test_parameters_of_a_part_are_removed_when_another_replaces_it() -> None:
    have = {"mobility": "a:A", "mobility_set": {"x": 1}, "mobility.y": 2, "mac": "b:B", "mac_set": {"z": 3}}
    assert changed(have, {"nodes": 4}) == {**have, "nodes": 4}
    assert changed(have, {"mobility": "a:A", "mobility.x": 5}) == {**have, "mobility.x": 5}
    assert changed(have, {"mobility": "static"}) == {"mobility": "static", "mac": "b:B", "mac_set": {"z": 3}}


def test_typed_and_folded_are_two_ways_to_write_the_same() -> None:
    typed = {"nodes": 4, "mobility": "a:A", "mobility.x": 1, "mobility.y": 2, "mac.z": 3}
    assert flat(folded(typed)) == typed
    assert folded(typed)["mac_set"] == {"z": 3}


# ---- names


def test_a_class_stands_for_its_name() -> None:
    named = small(mobility=Shuttle, mobility_set={"lanes": 2})
    assert named == small(mobility=f"{HERE}:Shuttle", mobility_set={"lanes": 2})
    assert with_values(SMALL, {"mac": Dsss}).mac == f"{HERE}:Dsss"
    with pytest.raises(InputError, match=r"is not a subclass of roamcast\.parts\.Radio$"):
        small(radio=Shuttle)


def test_each_built_in_part_has_a_description() -> None:
    for part in PARTS.values():
        assert all(10 < len(text) < 100 and not text.endswith(".") for text in part.own.values())


def test_exactly_the_built_in_parts_have_names() -> None:
    assert set(MAC.built_in) == set(mac.MACS)
    assert set(RADIO.built_in) == set(radio.RADIOS)
    for name in set(MOBILITY.built_in) - {"trace", "contacts"}:
        assert isinstance(mobility.build(small(mobility=name), 1), mobility.Mobility)


def test_an_installed_package_adds_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "town_parts-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: town-parts\nVersion: 1.0\n")
    groups = {"mobility": "Scattered", "radios": "InverseSquare", "macs": "Dsss"}
    text = "".join(f"[roamcast.{group}]\ntown = {HERE}:{cls}\n" for group, cls in groups.items())
    (info / "entry_points.txt").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    ours = run(mobility="static", radio="free-space", mac="dcf")
    assert run(mobility="town", radio="town", mac="town") == ours
    for part in PARTS.values():
        assert part.names()[-1] == "town"


def test_a_scenario_with_parts_from_outside_can_be_sent_to_a_worker() -> None:
    scenario = small(mobility=f"{HERE}:Shuttle", mobility_set={"lanes": 2}, mac=f"{HERE}:Dsss")
    assert msgspec.json.decode(msgspec.json.encode(scenario), type=Scenario) == scenario


def test_empty_parameters_do_not_change_the_id_of_a_run() -> None:
    assert not {"mobility_set", "radio_set", "mac_set"} & small().facts().keys()
    assert small(mobility=f"{HERE}:Shuttle", mobility_set={"lanes": 2}).facts()["mobility_set"] == {"lanes": 2}
