"""Scenarios: every error is one line that names the field."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from roamcast.errors import InputError
from roamcast.papers import presets
from roamcast.world.scenario import Scenario, with_values


def refused(changes: dict[str, Any]) -> str:
    """The error for these values; it must be one line."""
    with pytest.raises(InputError) as error:
        Scenario(**changes)
    message = str(error.value)
    assert "\n" not in message and "$" not in message and "`" not in message
    return message


def typed(**changes: str) -> Scenario:
    return with_values({}, changes)


# ---- one field


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes=0", "nodes=0: must be a whole number, at least 1 and at most 1000000"),
        ("nodes=-3", "nodes=-3: must be a whole number"),
        ("nodes=ten", "nodes=ten: must be a whole number"),
        ("nodes=1.5", "nodes=1.5: must be a whole number"),
        ("nodes=", "nodes=: must be a whole number"),
        ("nodes=2000000", "nodes=2000000: must be a whole number"),
        ("width_m=0", "width_m=0: must be a number, at least 0.01 and at most 10000000"),
        ("width_m=-1", "width_m=-1: must be a number, at least 0.01 and at most 10000000"),
        ("width_m=1km", "width_m=1km: must be a number, at least 0.01 and at most 10000000"),
        ("battery_j=inf", "battery_j=inf: must be finite"),
        ("range_m=1e300", "range_m=1e300: must be a number, at least 0.01 and at most 10000000"),
        ("crash_mean_s=1e-9", "crash_mean_s=1e-09: must be 0 or at least 0.001"),
        ("rate_hz=1e6", "rate_hz=1e+06: 1e+08 events in all; there must not be over 10,000,000"),
        ("duration_s=10s", "duration_s=10s: must be a number"),
        ("duration_s=0", "duration_s=0: must be a number, above 0 and at most 500000"),
        ("duration_s=500001", "duration_s=500001: must be a number, above 0 and at most 500000"),
        ("duration_s=inf", "duration_s=inf: must be"),
        ("duration_s=nan", "duration_s=nan: must be"),
        ("range_m=nan", "range_m=nan: must be"),
        ("loss=1.01", "loss=1.01: must be a number, at least 0 and at most 1"),
        ("loss=-0.1", "loss=-0.1: must be a number, at least 0 and at most 1"),
        ("carrier_sense_ratio=0.5", "carrier_sense_ratio=0.5: must be a number, at least 1"),
        ("keep_tables=maybe", "keep_tables=maybe: must be true or false"),
        ("mobility=walk", "unknown mobility 'walk'; known: city, contacts, direction,"),
        ("mac=DCF", "unknown mac 'DCF'; known: dcf, ideal, lora, tinyos"),
        ("rate_bps=0.5", "rate_bps=0.5: must be a number, at least 1"),
        ("queue=0", "queue=0: must be a whole number, at least 1"),
        ("queue=99999999999999999999999999", "queue=99999999999999999999999999: must be a whole number"),
        ("retries=-1", "retries=-1: must be a whole number, at least 0"),
        ("payload_bytes=60001", "payload_bytes=60001: must be a whole number, at least 0 and at most 60000"),
        ("attributes_max=9", "attributes_max=9: must be a whole number, at least 1 and at most 8"),
        ("traffic_seed=-1", "traffic_seed=-1: must be a whole number, at least 0"),
        ("traffic_seed=1.5", "traffic_seed=1.5: must be a whole number, at least 0"),
        ("speed_per=car", "speed_per=car: must be one of leg, node"),
        ("bystanders=loud", "bystanders=loud: must be one of silent, subscribed"),
        ("ranges_within=maybe", "ranges_within=maybe: must be true or false"),
        ("validity_s=1e10", "validity_s=1e10: must be a number, at least 0 and at most 1000000000"),
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(text: str, message: str) -> None:
    name, _, value = text.partition("=")
    with pytest.raises(InputError) as error:
        typed(**{name: value})
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": 0}, "nodes=0: must be a whole number"),
        ({"nodes": "5"}, "nodes=5: must be a whole number"),
        ({"nodes": 5.5}, "nodes=5.5: must be a whole number"),
        ({"nodes": True}, "nodes=True: must be a whole number"),
        ({"nodes": None}, "nodes=None: must be a whole number"),
        ({"width_m": "wide"}, "width_m=wide: must be a number, at least 0.01 and at most 10000000"),
        ({"battery_j": float("inf")}, "battery_j=inf: must be finite"),
        ({"keep_tables": 1}, "keep_tables=1: must be true or false"),
        ({"street_map": 3}, "street_map=3: must be a text"),
        ({"radio": "laser"}, "unknown radio 'laser'; "),
    ],
)
def test_a_wrong_value_in_a_program_or_a_preset_is_named_in_the_same_way(changes: dict[str, Any], message: str) -> None:
    assert refused(changes).startswith(message)
    with pytest.raises(InputError, match=message.split("=")[0]):
        with_values(changes, {})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nods", "unknown scenario field 'nods'; did you mean 'nodes'?"),
        (
            "range",
            "unknown scenario field 'range'; did you mean 'range_m', 'range_max_m', 'range_per' or 'ranges_within'?",
        ),
        ("duration", "unknown scenario field 'duration'; did you mean 'duration_s'?"),
        ("xyzzy", "unknown scenario field 'xyzzy'; `roamcast fields` lists them"),
    ],
)
def test_for_an_unknown_field_the_nearest_one_is_suggested(name: str, message: str) -> None:
    for base, changes in (({}, {name: "1"}), ({name: 1}, {})):
        with pytest.raises(InputError) as error:
            with_values(base, changes)
        assert str(error.value).startswith(message)
    with pytest.raises(InputError) as error:
        Scenario(**{name: 1})
    assert str(error.value) == message


def test_fields_must_be_named() -> None:
    with pytest.raises(InputError, match=r"^5: a scenario's fields must be named: Scenario\(nodes=40\)$"):
        Scenario(5)


def test_texts_are_converted_to_the_types_of_their_fields() -> None:
    s = typed(nodes="7", width_m="12", keep_tables="true", mobility="static", subscribers="3", street_map="5")
    assert (s.nodes, s.width_m, s.keep_tables, s.mobility, s.street_map) == (7, 12.0, True, "static", "5")
    assert type(s.width_m) is float


def test_a_whole_number_is_accepted_where_a_number_is_needed() -> None:
    assert type(Scenario(width_m=500).width_m) is float
    assert with_values({"width_m": 500}, {}) == Scenario(width_m=500.0)


def test_typed_values_replace_those_of_a_preset() -> None:
    assert with_values({"nodes": 50, "loss": 0.1}, {"nodes": "60"}) == Scenario(nodes=60, loss=0.1)


# ---- fields together


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"publishers": 101}, "publishers (101) must not be above nodes (100)"),
        ({"nodes": 5}, "subscribers (10) must not be above nodes (5)"),
        ({"nodes": 1}, "subscribers (10) must not be above nodes (1)"),
        ({"speed_min_mps": 3.0}, "speed_min_mps (3) must not be above speed_max_mps (2)"),
        ({"pause_min_s": 1.0}, "pause_min_s (1) must not be above pause_max_s (0)"),
        ({"partition_from_s": 5.0}, "partition_from_s (5) must not be above partition_until_s (0)"),
        ({"range_max_m": 100.0}, "range_max_m (100) must not be below range_m (150)"),
        ({"publish_until_s": 101.0}, "publish_until_s (101) must not be above duration_s (100)"),
        ({"publish_from_s": 100.0}, "publish_from_s (100) must be below duration_s (100)"),
        (
            {"publish_from_s": 50.0, "publish_until_s": 40.0},
            "publish_from_s (50) must not be above publish_until_s (40)",
        ),
        ({"speed_min_mps": 0.0}, "speed_min_mps must be above 0: a node that draws speed 0 never arrives"),
        ({"mobility": "direction", "speed_min_mps": 0.0}, "speed_min_mps must be above 0"),
        (
            {"asleep_s": 1.0, "awake_s": 1.0, "crash_mean_s": 9.0},
            "asleep_s (1) and crash_mean_s (9): one of them must be 0",
        ),
        ({"asleep_s": 1.0}, "asleep_s (1) needs awake_s above 0"),
        ({"bystanders": "subscribed"}, "bystanders=subscribed needs workload=topics; it is single"),
        (
            {"workload": "ranges", "ranges_within": True, "interested": 0.67, "subscriptions_per_node": 2},
            "interested=0.67: must be at most 0.6667 with ranges_within=true and subscriptions_per_node=2",
        ),
        ({"mobility": "trace"}, "mobility=trace needs trace=FILE"),
        ({"mobility": "contacts"}, "mobility=contacts needs trace=FILE"),
        ({"radio": "table"}, "radio=table needs links=FILE"),
        (
            {"mobility": "contacts", "trace": "x", "radio": "table", "links": "y"},
            "mobility=contacts has links of its own",
        ),
        ({"mobility": "contacts", "trace": "x", "radio": "two-ray"}, "mobility=contacts has links of its own"),
        ({"mobility": "contacts", "trace": "x", "partition_until_s": 9.0}, "partition_until_s must be 0 with mobility"),
        ({"radio": "table", "links": "x", "partition_until_s": 9.0}, "partition_until_s must be 0 with radio=table"),
    ],
)
def test_contradictions_name_both_fields(changes: dict[str, Any], message: str) -> None:
    assert refused(changes).startswith(message)


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes": 1, "publishers": 1, "subscribers": 1},
        {"nodes": 1, "publishers": 0, "subscribers": 0},
        {"publishers": 100, "subscribers": 100},
        {"range_max_m": 150.0},
        {"publish_until_s": 100.0},
        {"publish_from_s": 99.0},
        {"publish_from_s": 5.0, "publish_until_s": 5.0},
        {"speed_min_mps": 0.0, "speed_max_mps": 0.0},
        {"mobility": "static", "speed_min_mps": 0.0},
        {"mobility": "gauss-markov", "speed_min_mps": 0.0},
        {"asleep_s": 1.0, "awake_s": 1.0},
        {"awake_s": 1.0, "crash_mean_s": 9.0},
        {"duration_s": 500_000.0},
        {"loss": 1.0},
        {"workload": "topics", "bystanders": "subscribed"},
        {"workload": "ranges", "ranges_within": True, "interested": 0.5},
        {"workload": "ranges", "interested": 0.9},
        {"interested": 0.9, "ranges_within": True},
        {"traffic_seed": 2**31 - 1},
    ],
)
def test_values_at_their_limits_are_accepted(changes: dict[str, Any]) -> None:
    Scenario(**changes)


def test_a_scenario_does_not_change() -> None:
    with pytest.raises(AttributeError):
        Scenario().nodes = 5  # type: ignore[misc]
    with pytest.raises(InputError, match="nodes=0"):
        msgspec.structs.replace(Scenario(), nodes=0)


@pytest.mark.parametrize("name", presets.names())
def test_presets_are_scenarios(name: str) -> None:
    scenario = presets.load(name).scenario()
    assert with_values(msgspec.structs.asdict(scenario), {}) == scenario


# ---- where nodes stand


def test_neighbours_decide_the_size_of_the_area() -> None:
    s = Scenario(mobility="static", nodes=200, range_m=50.0, neighbours=5.0, publishers=1, subscribers=1)
    assert (s.width_m, s.height_m) == (536.95, 536.95)
    assert Scenario(**msgspec.to_builtins(s)) == s
    larger = with_values(msgspec.to_builtins(s), {"nodes": "400"})
    assert larger.width_m > 1.4 * s.width_m
    assert with_values(msgspec.to_builtins(s), {"neighbours": "0", "width_m": "99"}).width_m == 99.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mobility": "waypoint", "placement": "grid"}, "placement=grid needs mobility=static"),
        ({"mobility": "waypoint", "neighbours": 5.0}, "neighbours=5 needs mobility=static, radio=disc and one range"),
        ({"mobility": "static", "neighbours": 5.0, "radio": "two-ray"}, "neighbours=5 needs"),
        ({"mobility": "static", "neighbours": 5.0, "range_m": 50.0, "range_max_m": 60.0}, "neighbours=5 needs"),
        ({"mobility": "static", "neighbours": 9.0, "nodes": 10}, "neighbours=9: must be below 9 with nodes=10"),
        ({"mobility": "static", "neighbours": -1.0}, "neighbours=-1.0: must be a number, at least 0"),
        ({"mobility": "city", "placement": "triangle"}, "placement=triangle needs mobility=static"),
        ({"placement_jitter": 1.1}, "placement_jitter=1.1: must be a number, at least 0 and at most 1"),
        (
            {"mobility": "static", "neighbours": 5.0, "placement": "triangle", "placement_jitter": 0.0},
            "neighbours=5: must be at least 5.20 with placement=triangle, placement_jitter=0 and nodes=100",
        ),
    ],
)
def test_impossible_placements_are_refused(changes: dict[str, Any], message: str) -> None:
    assert refused({"publishers": 1, "subscribers": 1, **changes}).startswith(message)


@pytest.mark.parametrize("mobility", ["city", "trace"])
def test_a_local_share_of_notifications_needs_nodes_that_fill_the_area(mobility: str) -> None:
    changes = {"mobility": mobility, "trace": "t", "local_share": 0.5}
    assert refused({**changes, "local_of": "notifications"}).startswith("local_of must be publications with mobility=")
    assert Scenario(**changes).local_of == "publications"


@pytest.mark.parametrize("name", ["width_m", "height_m"])
def test_a_size_that_neighbours_decide_cannot_be_typed(name: str) -> None:
    with pytest.raises(InputError, match=f"^{name}=99: neighbours=5.44 decides it; make that 0$"):
        presets.load("costa").scenario({name: "99"})


def test_jitter_and_lattice_decide_the_size_of_the_area_too() -> None:
    few = {"mobility": "static", "range_m": 50.0, "neighbours": 5.0}
    sides = [Scenario(**few, placement="triangle", placement_jitter=jitter).width_m for jitter in (0.05, 0.3, 1.0)]
    assert sides == sorted(sides, reverse=True) and sides[0] > 1.2 * sides[2]
    assert Scenario(**few, placement="grid", placement_jitter=0.3).width_m != Scenario(**few, placement="grid").width_m


# ---- a preset, shortened


@pytest.mark.parametrize(
    ("base", "typed", "message"),
    [
        (
            {"duration_s": 100.0, "publish_until_s": 80.0},
            {"duration_s": "20"},
            "publish_until_s (80) must not be above duration_s (20): set publish_until_s=20, too",
        ),
        (
            {"duration_s": 100.0, "publish_from_s": 20.0, "publish_until_s": 80.0},
            {"duration_s": "20", "publish_until_s": "20"},
            "publish_from_s (20) must be below duration_s (20): set publish_from_s=0, too",
        ),
    ],
)
def test_a_person_who_shortens_a_preset_reads_what_else_to_set(
    base: dict[str, Any], typed: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        with_values(base, typed)
    assert str(caught.value) == message
    option, _, value = message.rpartition(": set ")[2].removesuffix(", too").partition("=")
    assert with_values(base, {**typed, option: value}).duration_s == 20.0


def test_if_both_are_typed_the_error_is_only_about_their_values() -> None:
    with pytest.raises(InputError) as caught:
        with_values({"publish_until_s": 80.0}, {"duration_s": "20", "publish_until_s": "30"})
    assert str(caught.value) == "publish_until_s (30) must not be above duration_s (20)"
    assert with_values({"publish_until_s": 80.0}, {"duration_s": "80"}).publish_until_s == 80.0


@pytest.mark.parametrize("value", ["-1", "10001", "1.5"])
def test_overhead_is_a_whole_number_within_bounds(value: str) -> None:
    with pytest.raises(InputError, match=r"^overhead_bytes=.*: must be a whole number, at least 0 and at most 10000$"):
        with_values({}, {"overhead_bytes": value})
