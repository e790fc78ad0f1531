"""The status of a running node, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from roamcast.net.host.runner import Runner


class Neighbour(msgspec.Struct, frozen=True):
    node: int
    medium: str  # the name of the one on which it is reached
    address: str
    silent_s: float
    frames: int
    bytes: int


class MediumStatus(msgspec.Struct, frozen=True):
    """One medium of the node, and what was sent and received on it."""

    name: str
    place: str
    up: bool
    queue: int
    queue_full: int  # frames for which its queue had no room
    airtime_s: float
    datagrams_in: int
    datagrams_out: int
    bytes_in: int
    bytes_out: int


class RunnerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a runner now, and the counts since it was made."""

    node: int
    protocol: str
    secure: bool
    keys: list[str]  # ids, oldest first
    sending_key: str
    network: bool  # whether there is one, and its link is up: of at least one medium
    media: list[MediumStatus]
    up_s: float
    neighbours: list[Neighbour]  # the one heard last comes first
    subscriptions: dict[int, str]
    queue: int
    timers: int
    airtime_s: float
    routing_entries: int
    routing_bytes: int
    decisions: dict[str, int]  # by kind and reason
    datagrams_in: int
    datagrams_out: int
    bytes_in: int
    bytes_out: int
    frames_in: int
    frames_out: int
    copies: int
    echoes: int
    acks_in: int
    acks_out: int
    positions_in: int
    positions_out: int
    retries: int
    muted: int
    delivered: int
    published: int
    own: int  # own events that an application on this node wanted
    dropped: dict[str, int]  # by reason (net/refusal.py)


def runner_status(runner: Runner) -> RunnerStatus:
    now_us, ring, protocol = runner.timers.now_us(), runner.membership.ring, runner.protocol
    entries, size = (0, 0) if protocol is None else protocol.memory()
    return RunnerStatus(
        node=runner.id,
        protocol=runner.protocol_class.__name__,
        secure=ring is not None,
        keys=[] if ring is None else [f"{key.id:04x}" for key in ring.keys],
        sending_key="" if ring is None else f"{ring.sending.id:04x}",
        network=any(lane.medium.up() for lane in runner.lanes),
        media=_media(runner),
        up_s=(now_us - runner.made_us) / 1e6,
        neighbours=_neighbours(runner, now_us),
        subscriptions={number: str(filter) for number, filter in runner.subscriptions.filters.items()},
        queue=len(runner.outbox),
        timers=len(runner.protocol_timers),
        airtime_s=runner.outbox.airtime_us / 1e6,
        routing_entries=entries,
        routing_bytes=size,
        decisions=runner.decisions.counts(),
        **runner.counters(),
    )


def _media(runner: Runner) -> list[MediumStatus]:
    return [
        MediumStatus(
            lane.name,
            lane.medium.place(),
            lane.medium.up(),
            len(runner.outbox.of_lane(i)),
            lane.queue_full,
            runner.outbox.of_lane(i).airtime_us / 1e6,
            *(lane.datagrams_in, lane.datagrams_out, lane.bytes_in, lane.bytes_out),
        )
        for i, lane in enumerate(runner.lanes)
    ]


def _neighbours(runner: Runner, now_us: int) -> list[Neighbour]:
    shown = []
    for number, peer in reversed(runner.codec.peers.known.items()):
        i, address = runner.outbox.place_of(number) or peer.address
        lane = runner.lanes[i]
        silent_s = (now_us - peer.heard_us) / 1e6
        shown.append(Neighbour(number, lane.name, lane.medium.shown(address), silent_s, peer.frames, peer.bytes))
    return shown
