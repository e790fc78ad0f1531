"""What a scenario means for LoRa radios and for nodes from a list: fields that follow from others, and specifications.

Powers are those of the SX1262 at 3.3 V (Semtech's data sheet, tables 3-4 and 3-5): 45 mA to send with 14 dBm, 58 with
17, 84 with 20, 118 with 22; with an amplifier for 30 dBm a module takes 650 mA at 5 V (EBYTE E22-900M30S). Receiving
takes 5.3 mA, and a radio that waits for frames receives all the time. Asleep it takes 0.6 uA.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, Final

from roamcast.errors import InputError
from roamcast.world import node_list
from roamcast.world.lora import MODEMS, airtime_us
from roamcast.world.mac.lora import HOUR_US, MOST_BYTES
from roamcast.world.parts import PARTS
from roamcast.world.specs import LoraSpec, PowerSpec
from roamcast.world.streams import Stream

if TYPE_CHECKING:
    from roamcast.world.scenario import Scenario

TX_W: Final = ((14.0, 0.149), (17.0, 0.191), (20.0, 0.277), (22.0, 0.389), (30.0, 3.25))
"""Up to this many dBm a radio takes this power."""
RX_W: Final = 0.0175
SLEEP_W: Final = 0.000002
ROUTER: Final = "router"


def of_list(s: Scenario) -> dict[str, Any]:
    """The fields that a list of nodes decides: how many there are, and the area."""
    if not s.positions:
        return {}
    listed = node_list.read(s.positions)
    count = len(listed)
    follow = {name: _of_nodes(getattr(s, name), s.nodes, count) for name in ("publishers", "subscribers", "routers")}
    if any(node.moves for node in listed):
        return {"nodes": count, **follow}  # those that move need the scenario's area
    extent = {"width_m": max(0.01, *(node.x for node in listed)), "height_m": max(0.01, *(node.y for node in listed))}
    return {"nodes": count, **follow, **extent}


def _of_nodes(number: int, nodes: int, count: int) -> int:
    """All nodes stay all nodes; fewer stay so many, if there are."""
    return count if number == nodes else min(number, count)


def of_radio(s: Scenario) -> dict[str, float]:
    """The powers of a LoRa radio, unless the scenario has powers of its own."""
    default = PowerSpec()
    names = ("tx_w", "rx_w", "idle_w", "sleep_w")
    if s.radio != "lora" or any(getattr(s, name) != getattr(default, name) for name in names):
        return {}
    tx_w = next((w for dbm, w in TX_W if s.tx_dbm <= dbm), TX_W[-1][1])
    return {"tx_w": tx_w, "rx_w": RX_W, "idle_w": RX_W, "sleep_w": SLEEP_W}


def check(s: Scenario) -> None:
    """What concerns more than one field of LoRa radios and lists of nodes."""
    if s.mac == "lora" and s.radio == "table":
        raise InputError("radio=table has no strengths for mac=lora; use radio=lora with the same links=FILE")
    if s.polite and (s.mac, s.workload) != ("lora", "mesh"):
        raise InputError("polite=true: only what mac=lora and workload=mesh send can wait; set both, or leave it out")
    _check_pair(s)
    for name, least in (("spreading_factor", 7), ("coding_rate", 5)):
        if 0 < getattr(s, name) < least:
            raise InputError(f"{name}={getattr(s, name)}: must be 0 or at least {least}")
    if s.routers > s.nodes:
        raise InputError(f"routers ({s.routers}) must not be above nodes ({s.nodes})")
    if s.positions and s.mobility in ("trace", "contacts"):
        raise InputError(f"positions={s.positions}: mobility={s.mobility} has places of its own; leave one of them out")
    if s.positions and s.mobility == "static" and any(node.moves for node in node_list.read(s.positions)):
        raise InputError(f"positions={s.positions}: some of its nodes move; set mobility to how they do")
    if s.mac == "lora":
        _check_duty(s)


def _check_pair(s: Scenario) -> None:
    """A LoRa radio under another medium access would send at that one's bit rate, and the other way round. Parts from
    outside may know better."""
    for one, other in (("radio", "mac"), ("mac", "radio")):
        beside = getattr(s, other)
        if getattr(s, one) == "lora" and beside != "lora" and beside in PARTS[other].built_in:
            raise InputError(f"{one}=lora needs {other}=lora; it is {beside}, which knows no LoRa frames")


def _check_duty(s: Scenario) -> None:
    """A frame that is longer than the share of an hour would break it whenever it is sent."""
    longest_us = airtime_us(spec_of(s, 0), MOST_BYTES)
    if int(s.duty_cycle * HOUR_US) < longest_us:
        frame = f"a frame of {MOST_BYTES} bytes takes {longest_us / 1e6:.2f} s"
        least = ceil(longest_us / HOUR_US * 1e6) / 1e6
        raise InputError(f"duty_cycle={s.duty_cycle:g}: {frame}, so that it must be at least {least:g} with this modem")


def spec_of(s: Scenario, seed: int) -> LoraSpec:
    """`seed` is that of places: it decides which nodes are routers where no list does."""
    bandwidth_khz, spreading_factor, coding_rate = MODEMS[s.modem]
    roles = _roles(s, seed)
    return LoraSpec(
        bandwidth_khz=s.bandwidth_khz or bandwidth_khz,
        spreading_factor=s.spreading_factor or spreading_factor,
        coding_rate=s.coding_rate or coding_rate,
        preamble_symbols=s.preamble_symbols,
        explicit_header=s.explicit_header,
        coding=s.coding,
        noise_figure_db=s.noise_figure_db,
        path_loss=s.path_loss,
        path_loss_exponent=s.path_loss_exponent,
        tx_dbm=s.tx_dbm,
        frequency_mhz=s.frequency_mhz,
        antenna_m=s.antenna_m,
        gain_dbi=s.gain_dbi,
        antennas=_antennas(s, roles),
        roles=roles,
        capture_db=s.rejection_db,
        sense_db=s.detection_db,
        duty_cycle=s.duty_cycle,
    )


def _roles(s: Scenario, seed: int) -> tuple[str, ...]:
    if s.positions:
        roles = tuple(node.role for node in node_list.read(s.positions))
        if any(roles):
            return roles
    if not s.routers:
        return ()
    drawn = sorted((Stream(seed, i, "role").random(), i) for i in range(s.nodes))[: s.routers]
    routers = {i for _, i in drawn}
    return tuple(ROUTER if i in routers else "" for i in range(s.nodes))


def _antennas(s: Scenario, roles: tuple[str, ...]) -> tuple[tuple[float, float], ...]:
    """Height and gain of each node's antenna: the list's, or the scenario's."""
    if s.positions:
        listed = node_list.read(s.positions)
        return tuple(
            (
                s.antenna_m if node.height_m is None else node.height_m,
                s.gain_dbi if node.gain_dbi is None else node.gain_dbi,
            )
            for node in listed
        )
    return tuple((s.router_antenna_m if role == ROUTER else s.antenna_m, s.gain_dbi) for role in roles)
