"""Rotations of the group's key at one node: a kill cuts nobody off, and old steps bring no old key back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from roamcast.net.config import Config
from roamcast.net.keep.store import Store
from roamcast.net.node.node import Node
from roamcast.net.trust import rekeying
from roamcast.net.trust.identity import Identity, Roster
from roamcast.net.trust.keys import GroupKey, KeyRing
from roamcast.net.trust.rekeying import KEYS, ONLY, SEND, TOPIC, Step, Taken
from roamcast.pubsub.event import Event, event_id
from tests.net.node.nodes import config, run, until

OTHER, OWN = 1, 2
FIRST, SECOND = GroupKey(b"1" * 32), GroupKey(b"2" * 32)


@pytest.fixture
def member(key: str, tmp_path: Path) -> Config:
    """A node with the number 2, on a roster with another one."""
    return enrolled(key, tmp_path, b"o" * 32)


def enrolled(key: str, folder: Path, other: bytes) -> Config:
    with Store(str(folder / "state")) as store:
        public = Identity.of(store.values).public
    (folder / "roster.toml").write_text(Roster({OTHER: Identity(other).public, OWN: public}).text())
    return config(key, state=str(folder / "state"), roster=str(folder / "roster.toml"))


def steps(node: Node, new: GroupKey, first: int) -> list[Event]:
    """The steps of a rotation that the other node conducts; its events have numbers from `first` on."""
    ring, roster = node.runner.membership.ring, node.runner.membership.roster
    assert ring is not None
    assert roster is not None
    sealed = rekeying.boxes(new.secret, ring.group, {OWN: roster.members[OWN]})
    made = (Step(KEYS, new.id, *sealed), Step(SEND, new.id), Step(ONLY, new.id))
    return [event(message, first + n) for n, message in enumerate(made)]


def event(message: Step | Taken, number: int) -> Event:
    return Event(event_id(OTHER, number), TOPIC, {}, rekeying.encoded(message))


async def give(node: Node, events: list[Event]) -> None:
    parts = node._running.rekeying
    for each in events:
        assert parts.takes(each)
        await until(lambda: not parts._tasks)


def keys(node: Node) -> list[GroupKey]:
    ring = node.runner.membership.ring
    assert ring is not None
    return list(ring.keys)


def test_the_steps_of_an_old_rotation_change_nothing_after_a_restart(member: Config) -> None:
    async def go() -> None:
        async with Node(member) as node:
            old, new = steps(node, FIRST, 1), steps(node, SECOND, 4)
            await give(node, old)
            assert keys(node) == [FIRST]
            await give(node, new)
            assert keys(node) == [SECOND]
        async with Node(member) as node:
            published = node.status().stored.publications
            await give(node, old)
            assert keys(node) == [SECOND]
            assert node.status().stored.publications == published, "an old step gets no answer"

    run(go())


def test_a_dropped_key_does_not_come_back_in_new_events(member: Config) -> None:
    async def go() -> None:
        async with Node(member) as node:
            await give(node, [*steps(node, FIRST, 1), *steps(node, SECOND, 4)])
        async with Node(member) as node:
            await give(node, steps(node, FIRST, 7))
            assert keys(node) == [SECOND]

    run(go())


def test_a_replaced_key_file_ends_the_keys_of_rotations_for_good(member: Config) -> None:
    async def go() -> None:
        async with Node(member) as node:
            old = steps(node, FIRST, 1)
            await give(node, old)
            group = node.runner.membership.ring.group  # type: ignore[union-attr]
        KeyRing(group, (SECOND,), SECOND.id).save(member.key, replace=True)
        async with Node(member) as node:
            assert keys(node) == [SECOND]
            await give(node, steps(node, FIRST, 7))
            assert keys(node) == [SECOND]
            third = GroupKey(b"3" * 32)
            await give(node, steps(node, third, 10))
            assert keys(node) == [third], "new keys are taken"
            await give(node, [*steps(node, FIRST, 13), *steps(node, SECOND, 16)])
            assert keys(node) == [third]

    run(go())


def test_steps_of_a_number_with_a_new_identity_count_from_the_beginning(
    member: Config, key: str, tmp_path: Path
) -> None:
    async def go() -> None:
        async with Node(member) as node:
            await give(node, steps(node, FIRST, 1000))
        async with Node(enrolled(key, tmp_path, b"p" * 32)) as node:
            await give(node, steps(node, SECOND, 1))
            assert keys(node) == [SECOND]

    run(go())


def test_a_step_is_answered_again_while_it_is_repeated(member: Config) -> None:
    async def go() -> None:
        async with Node(member) as node:
            first = steps(node, FIRST, 1)[0]
            await give(node, [first])
            published = node.status().stored.publications
            await give(node, [Event(event_id(OTHER, 2), TOPIC, {}, first.payload)])
            assert node.status().stored.publications == published + 1

    run(go())


@pytest.mark.parametrize("last", [SEND, ONLY])
def test_a_node_that_is_killed_while_it_publishes_a_step_takes_it_at_the_next_start(member: Config, last: int) -> None:
    async def go() -> None:
        async with Node(member) as node:
            await node.rotate()
            old, new = keys(node)
            hang_at(node, last)
            for step in range(last):
                node._running.rekeying.takes(event(Taken(step, new.id), 1 + step))
                await until(lambda step=step: waits_for(node, step + 1))
        async with Node(member) as node:
            await until(lambda: keys(node) == ([old, new] if last == SEND else [new]))
            await until(lambda: node.runner.membership.ring.sending == new)  # type: ignore[union-attr]
            for step in range(last, ONLY + 1):
                node._running.rekeying.takes(event(Taken(step, new.id), 10 + step))
                await until(lambda step=step: step == ONLY or waits_for(node, step + 1))
            await until(lambda: not node.status().rotation)
            assert keys(node) == [new]

    run(go())


def waits_for(node: Node, step: int) -> bool:
    return rekeying.STEPS[step] in node.status().rotation


def hang_at(node: Node, last: int) -> None:
    """From this step on, publishing does not end: then the node is killed."""
    parts = node._running.rekeying
    publish = parts._publish

    async def hang(message: Any) -> None:
        if message.step >= last:
            await asyncio.Event().wait()
        await publish(message)

    parts._publish = hang  # type: ignore[method-assign]


def test_a_replaced_key_file_ends_the_rotation_that_this_node_conducts(member: Config) -> None:
    async def go() -> None:
        async with Node(member) as node:
            await node.rotate()
            group = node.runner.membership.ring.group  # type: ignore[union-attr]
        KeyRing(group, (SECOND,), SECOND.id).save(member.key, replace=True)
        async with Node(member) as node:
            await until(lambda: not node.status().rotation)
            assert keys(node) == [SECOND]

    run(go())
