"""Scenarios of LoRa meshes: what follows from their fields, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.papers import presets
from roamcast.world import mesh
from roamcast.world.scenario import LATER, Scenario
from roamcast.world.simulate import simulate
from roamcast.world.workload import MESH, Workload

OUTSIDE_RADIO = "tests.world.outside:InverseSquare"
OUTSIDE_MAC = "tests.world.outside:Dsss"


@pytest.mark.parametrize("tx_dbm, tx_w", [(10.0, 0.149), (14.0, 0.149), (22.0, 0.389), (22.5, 3.25), (40.0, 3.25)])
def test_a_lora_radio_takes_the_power_of_its_chip(tx_dbm: float, tx_w: float) -> None:
    s = Scenario(radio="lora", mac="lora", tx_dbm=tx_dbm)
    assert (s.tx_w, s.rx_w, s.idle_w, s.sleep_w) == (tx_w, 0.0175, 0.0175, 0.000002)


def test_powers_that_somebody_sets_stay() -> None:
    assert Scenario(radio="lora", mac="lora", tx_w=2.0).rx_w == 1.0 and Scenario().tx_w == 1.4


def test_fields_of_lora_radios_do_not_change_the_names_of_other_runs() -> None:
    assert not set(LATER) & set(Scenario().facts())
    assert set(LATER) <= set(Scenario(radio="lora", mac="lora").facts())
    assert set(LATER) <= set(Scenario(radio="lora", mac=OUTSIDE_MAC).facts())
    assert set(LATER) <= set(Scenario(radio=OUTSIDE_RADIO, mac="lora").facts())


@pytest.mark.parametrize(
    "world, message",
    [
        ({"spreading_factor": 5}, "spreading_factor=5: must be 0 or at least 7"),
        ({"coding_rate": 4}, "coding_rate=4: must be 0 or at least 5"),
        ({"routers": 101}, r"routers \(101\) must not be above nodes \(100\)"),
        ({"mac": "lora", "radio": "table", "links": "some.csv"}, "radio=table has no strengths for mac=lora"),
        ({"radio": "lora"}, "^radio=lora needs mac=lora; it is dcf, which knows no LoRa frames$"),
        ({"radio": "lora", "mac": "ideal"}, "^radio=lora needs mac=lora; it is ideal"),
        ({"mac": "lora"}, "^mac=lora needs radio=lora; it is disc"),
        ({"modem": "long-fats"}, "modem=long-fats: must be one of long-fast, long-moderate"),
        ({"path_loss": "none"}, "path_loss=none: must be one of 3gpp-suburban, 3gpp-urban"),
        ({"duty_cycle": 0.0}, "duty_cycle=0.0: must be a number, above 0 and at most 1"),
    ],
)
def test_what_makes_no_sense_gets_one_line(world: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Scenario(**world)


def test_a_share_of_an_hour_must_be_enough_for_the_longest_frame() -> None:
    """On long-slow 255 bytes are 16 + 4.25 + 8 + 51 * 8 symbols of 32.768 ms: 14.295 s, 0.003971 of an hour."""
    slow = {"radio": "lora", "mac": "lora", "modem": "long-slow"}
    with pytest.raises(
        InputError, match=r"^duty_cycle=0\.001: .* 255 bytes takes 14\.30 s, .* at least 0\.003971 with"
    ):
        Scenario(**slow, duty_cycle=0.001)
    with pytest.raises(InputError, match=r"^duty_cycle=0\.00397: "):
        Scenario(**slow, duty_cycle=0.00397)
    assert Scenario(**slow, duty_cycle=0.003971).duty_cycle == 0.003971
    assert Scenario(duty_cycle=0.001).duty_cycle == 0.001  # which no other medium access looks at


def test_a_modem_can_be_taken_apart() -> None:
    made = mesh.spec_of(Scenario(radio="lora", mac="lora", modem="long-fast", spreading_factor=9, coding_rate=8), 1)
    assert (made.bandwidth_khz, made.spreading_factor, made.coding_rate) == (250.0, 9, 8)


def test_routers_are_drawn_for_each_seed_and_stand_high() -> None:
    s = Scenario(radio="lora", mac="lora", nodes=30, routers=4, antenna_m=2.0, router_antenna_m=40.0)
    made, other = mesh.spec_of(s, 1), mesh.spec_of(s, 2)
    assert made.roles.count("router") == 4 and made.roles != other.roles
    assert [height for height, _ in made.antennas] == [40.0 if role else 2.0 for role in made.roles]


# ---- traffic


def test_a_mesh_sends_positions_telemetry_infos_and_texts() -> None:
    s = Scenario(workload="mesh", nodes=50, publishers=50, rate_hz=0.02, duration_s=1000.0, interested=0.2)
    made = Workload(s, 1)
    count = {kind.topic: sum(p.topic == kind.topic for p in made.publications) for kind in MESH}
    shares = {topic: n / len(made.publications) for topic, n in count.items()}
    total = sum(kind.per_hour for kind in MESH)
    for kind in MESH:
        assert shares[kind.topic] == pytest.approx(kind.per_hour / total, abs=0.06)
    assert {len(p.payload) for p in made.publications if p.topic == "text"} == {40}


@pytest.mark.parametrize("share", [0.05, 0.2, 1.0])
def test_content_decides_which_share_of_the_nodes_is_interested(share: float) -> None:
    s = Scenario(workload="mesh", nodes=100, publishers=100, rate_hz=0.01, duration_s=300.0, interested=share,
                 radio="lora", mac="lora", mobility="static")  # fmt: skip
    result = simulate(s, "gossip", possible=False)
    pairs = len(result.events) * 99
    assert result.metrics["interested"] / pairs == pytest.approx(share, abs=0.03)


# ---- presets


@pytest.mark.parametrize("name, nodes", [("mesh-city", 150), ("mesh-hills", 40)])
def test_presets_of_meshes_say_where_each_value_is_from(name: str, nodes: int) -> None:
    preset = presets.load(name)
    s = preset.scenario()
    assert (s.nodes, s.modem, s.radio, s.mac, s.workload) == (nodes, "long-fast", "lora", "lora", "mesh")
    assert preset.protocol == "managed" and all(preset.sources.values())
    assert s.publishers == s.subscribers == nodes


def test_the_hills_have_routers_that_reach_farther() -> None:
    s = presets.load("mesh-hills").scenario()
    assert s.routers == 6 and s.router_antenna_m > s.antenna_m
    with_routers = simulate(s, "managed", seed=1, possible=False).metrics["deliveries"]
    without = simulate(presets.load("mesh-hills").scenario({"routers": "0"}), "managed", seed=1, possible=False)
    assert with_routers > without.metrics["deliveries"]
