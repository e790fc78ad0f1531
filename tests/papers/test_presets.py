"""The papers' scenarios: every value is valid and has a source."""

from __future__ import annotations

import re
from importlib.util import find_spec
from math import hypot, pi

import pytest

from roamcast.errors import InputError
from roamcast.papers import joint, presets
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.world import mobility
from roamcast.world.scenario import Scenario
from roamcast.world.streams import Stream

SOURCE = re.compile(r"(Fig\. \d+|Table [\dIV]+|§[\dIVX]|reading R\d+|joint reading: [\w-]+|ours(: .+)?$)")
OF_MESHES = re.compile(r"(Meshtastic|3GPP TR|SX1262|ours(: .+)?$)")
OF_PAPERS = ["baehni-city", "baehni-waypoint", "baldoni", "costa", "li", "rezende"]
ALL = sorted([*OF_PAPERS, "mesh-city", "mesh-hills"])


def test_every_paper_has_a_preset_and_two_are_of_meshes() -> None:
    assert presets.names() == ALL


@pytest.mark.parametrize("name", ALL)
def test_every_value_has_a_source_people_can_look_up(name: str) -> None:
    preset = presets.load(name)
    assert preset.sources.keys() >= preset.values.keys()
    for field, source in preset.sources.items():
        assert (SOURCE if name in OF_PAPERS else OF_MESHES).match(source), (field, source)


@pytest.mark.parametrize("name", OF_PAPERS)
def test_values_of_the_joint_reading_name_its_parts(name: str) -> None:
    named = [re.match(r"joint reading: ([\w-]+)", source) for source in presets.load(name).sources.values()]
    assert {match[1] for match in named if match} <= {part.name for part in joint.of_preset(name).part}


@pytest.mark.parametrize("name", ALL)
def test_the_papers_protocol_is_registered(name: str) -> None:
    assert presets.load(name).protocol in registry.BUILT_IN


@pytest.mark.parametrize("name", ALL)
def test_suggested_parameters_exist_and_are_in_range(name: str) -> None:
    preset = presets.load(name)
    for protocol in preset.params:
        if find_spec(registry.BUILT_IN[protocol].partition(":")[0]) is None:
            pytest.skip(f"{protocol} does not exist yet")
        parameters.build(registry.get(protocol), preset.params[protocol])


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        (
            "baldoni",
            {"nodes": 100, "range_m": 100, "range_max_m": 200, "publishers": 2, "subscribers": 10, "rate_hz": 0.5},
        ),
        ("baehni-waypoint", {"nodes": 150, "range_m": 442, "subscribers": 120, "events": 1, "validity_s": 180}),
        ("baehni-city", {"nodes": 15, "mobility": "city", "range_m": 44, "events": 1, "validity_s": 150}),
        ("costa", {"nodes": 200, "mobility": "static", "mac": "tinyos", "rate_bps": 31_200, "subscribers": 20}),
        ("rezende", {"nodes": 200, "height_m": 606, "range_m": 50, "events": 1000, "publish_until_s": 1200}),
        ("li", {"nodes": 500, "range_m": 150, "interests": 50, "local_share": 0.5, "attributes_max": 4}),
    ],
)
def test_presets_have_the_values_of_the_papers(name: str, facts: dict[str, object]) -> None:
    scenario = presets.load(name).scenario()
    assert {field: getattr(scenario, field) for field in facts} == facts


@pytest.mark.parametrize(("name", "per_second"), [("costa", 2.0), ("li", 25.0), ("baldoni", 1.0)])
def test_publications_per_second_in_all(name: str, per_second: float) -> None:
    scenario = presets.load(name).scenario()
    assert scenario.publishers * scenario.rate_hz == pytest.approx(per_second)


def test_the_run_is_longer_than_the_validity_of_the_last_event() -> None:
    for name in ("baehni-waypoint", "baehni-city"):
        s = presets.load(name).scenario()
        assert s.publish_until_s + s.validity_s <= s.duration_s


@pytest.mark.parametrize("reading", ["", *(change.name for change in joint.load("costa").changes)])
def test_costa_sensors_have_the_same_mean_number_of_neighbours_in_every_reading(reading: str) -> None:
    """Counted in the areas of thirty seeds, borders included; within three standard deviations of the mean."""
    s = presets.load("costa", reading).scenario()
    counts = [neighbour_count(s, seed) for seed in range(30)]
    assert sum(counts) / len(counts) == pytest.approx(5.44, abs=0.15)


@pytest.mark.parametrize(("nodes", "neighbours"), [(100, 5.2), (400, 5.6), (200, 10.49), (200, 15.39)])
def test_costa_areas_follow_the_number_of_nodes_and_neighbours(nodes: int, neighbours: float) -> None:
    changes = {"nodes": str(nodes), "neighbours": str(neighbours), "publishers": "90", "subscribers": "10"}
    s = presets.load("costa").scenario(changes)
    assert sum(neighbour_count(s, seed) for seed in range(5)) / 5 == pytest.approx(neighbours, rel=0.04)


def neighbour_count(s: Scenario, seed: int) -> float:
    model = mobility.build(s, seed)
    legs = [model.first(i, Stream(seed, i, "mobility")) for i in range(s.nodes)]
    near = sum(hypot(a.x - b.x, a.y - b.y) <= s.range_m for k, a in enumerate(legs) for b in legs[:k])
    return 2 * near / s.nodes


def test_rezende_nodes_have_four_neighbours_in_the_mean() -> None:
    """As in §4: this checks that area, range and number of nodes are right."""
    s = presets.load("rezende").scenario()
    assert s.nodes * pi * s.range_m**2 / (s.width_m * s.height_m) == pytest.approx(4, abs=0.5)


def test_typed_values_replace_those_of_the_preset() -> None:
    scenario = presets.load("baldoni").scenario({"nodes": "50", "mac": "ideal"})
    assert (scenario.nodes, scenario.mac, scenario.range_m) == (50, "ideal", 100)


@pytest.mark.parametrize(
    ("name", "nodes", "roles"),
    [
        ("li", "200", (200, 200)),
        ("rezende", 100, (100, 100)),
        ("baehni-waypoint", 300, (1, 240)),
        ("baldoni", 50, (2, 10)),
    ],
)
def test_roles_that_are_a_share_of_the_nodes_follow_their_number(
    name: str, nodes: str | int, roles: tuple[int, int]
) -> None:
    preset = presets.load(name)
    scenario = preset.scenario({"nodes": nodes})
    assert (scenario.publishers, scenario.subscribers) == roles
    assert preset.changed({"nodes": int(nodes)})["subscribers"] == roles[1]


def test_a_typed_number_of_publishers_or_subscribers_is_used() -> None:
    assert presets.load("li").scenario({"nodes": 200, "publishers": 3}).publishers == 3


def test_a_wrong_number_of_nodes_is_refused() -> None:
    with pytest.raises(InputError, match=r"^nodes=many: must be a whole number"):
        presets.load("li").scenario({"nodes": "many"})


def test_typed_parameters_replace_suggested_ones() -> None:
    li = presets.load("li")
    assert li.parameters("gossip", {"p": "0.5"}) == {"p": "0.5", "ttl": 0, "jitter_ms": 2.0}
    assert li.parameters("treegroup", {"x": "1"}) == {"x": "1"}


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(InputError, match=r"^unknown preset 'baldon'; did you mean 'baldoni'\?$"):
        presets.load("baldon")


GOOD = """
title = "t"
paper = "p"
protocol = "gossip"
[scenario]
nodes = { value = 5, source = "ours" }
subscribers = { value = 2, source = "ours" }
"""


def test_a_preset_has_the_contents_of_its_file() -> None:
    preset = presets.parse("x", GOOD + "[params.gossip]\np = { value = 0.3, source = 'Fig. 1' }\n")
    assert preset.values == {"nodes": 5, "subscribers": 2}
    assert preset.params == {"gossip": {"p": 0.3}}
    assert preset.sources == {"nodes": "ours", "subscribers": "ours", "gossip.p": "Fig. 1"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nodes =", "nods =", "nods"),
        ("value = 5", "value = 0", "at least 1"),
        ("value = 5", "value = 1", r"subscribers \(2\) must not be above nodes \(1\)"),
        ('5, source = "ours"', '5, source = " "', "nodes has no source"),
        ('5, source = "ours"', "5", "source"),
        ('title = "t"', "", "title"),
        ('title = "t"', 'title = "t"\nyear = 2005', "year"),
        ("[scenario]", "[scenario", "preset x: "),
    ],
)
def test_a_wrong_preset_is_refused_on_load(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        presets.parse("x", GOOD.replace(old, new))
    assert str(caught.value).startswith("preset x: ")
