"""Rotations of the group's key over the air (trust/rekeying.py): this node takes part in them, and may conduct one.

The keys of a rotation are stored in the node's store, not in the key file: a node that runs as a service cannot write
there. At a start they count if the file is still the one that they came from: replacing the file by hand decides.

A rotation that this node conducts is stored, too, and goes on after a restart. Steps are repeated while members are
missing, because a protocol need not carry an event until somebody comes.

Steps are events, so old ones may come again, also after a restart. A key that this node has dropped never comes back
over the air, and a step counts only if its event is newer than the last step of the same node.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from roamcast.errors import InputError, Malformed, RoamcastError
from roamcast.net.durable import DurableValues
from roamcast.net.host.runner import Runner
from roamcast.net.node.publishing import Publishing
from roamcast.net.trust import rekeying
from roamcast.net.trust.identity import Roster
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.rekeying import KEYS, ONLY, SEND, STEPS, TOPIC, Step, Taken
from roamcast.pubsub.event import GLOBAL, Event
from roamcast.pubsub.text import parse_subscription

log: Final = logging.getLogger("roamcast.net")

VALID_US: Final = 7 * 24 * 3600 * 1_000_000
REPEAT_S: Final = 600.0


class _Stored(msgspec.Struct, array_like=True):
    file: bytes  # a digest of the key file
    ring: str
    rotator: int  # the node that conducts the last rotation
    dropped: list[bytes] = []  # digests of the keys that this node had and has no more
    newest: dict[bytes, int] = {}  # the event of the last step that was taken, by the public key of its publisher


class _Conducted(msgspec.Struct, array_like=True):
    """The rotation that this node conducts."""

    step: Step
    members: list[int]  # the others
    taken: list[int] = []

    def missing(self) -> list[int]:
        return [number for number in self.members if number not in self.taken]


def ring_of(values: DurableValues, path: str) -> KeyRing:
    """The group's keys: those of the file, or of the rotations over the air that began with it."""
    file = KeyRing.load(path)
    stored = _stored(values)
    return file if stored is None or stored.file != _digest(path) else KeyRing.parse(stored.ring)


def _stored(values: DurableValues) -> _Stored | None:
    content = values.load("ring")
    return None if not content else msgspec.msgpack.decode(content, type=_Stored)


def _dropped(stored: _Stored | None, before: KeyRing, ring: KeyRing) -> list[bytes]:
    """Digests of the keys that this node had before, also those of rotations that another key file has ended."""
    had = set(map(rekeying.digest, before.keys))
    if stored is not None:
        had |= {*stored.dropped, *map(rekeying.digest, KeyRing.parse(stored.ring).keys)}
    return sorted(had - set(map(rekeying.digest, ring.keys)))


def _digest(path: str) -> bytes:
    return blake2b(Path(path).read_bytes(), digest_size=16).digest()


class Rekeying:
    def __init__(self, runner: Runner, values: DurableValues, publishing: Publishing, key: str, roster: str) -> None:
        self._runner = runner
        self._values = values
        self._publishing = publishing
        self._key_path = key
        self._roster_path = roster
        self._tasks: set[asyncio.Task[None]] = set()
        conducted = values.load("rotation")
        self._conducted = msgspec.msgpack.decode(conducted, type=_Conducted) if conducted else None

    def subscribe(self) -> None:
        """Have the protocol deliver the steps of rotations, if this node can take them."""
        if self._able():
            self._runner.subscribe(parse_subscription(f"topic {TOPIC}"))

    def _able(self) -> bool:
        member = self._runner.membership
        return member.ring is not None and member.identity is not None and member.roster is not None

    def progress(self) -> str:
        if self._conducted is None:
            return ""
        step, missing = self._conducted.step, self._conducted.missing()
        who = ", ".join(map(str, missing[:10])) + (" …" if len(missing) > 10 else "")
        return f"key {step.key:04x}: waiting for {len(missing)} to {STEPS[step.step]} ({who})"

    async def run(self) -> None:
        """Go on with a rotation of an earlier boot, and repeat the present step from time to time."""
        await _logged(self._advance())
        while True:
            await asyncio.sleep(REPEAT_S)
            await _logged(self._repeat())

    async def _repeat(self) -> None:
        self._catch_up()
        if self._conducted is not None:
            await self._publish(self._conducted.step)

    # ---- conducting a rotation

    async def begin(self) -> None:
        if not self._able():
            raise InputError("only a node with a key and a roster can rotate the group's key")
        if self._conducted is not None:
            raise InputError(f"a rotation is under way: {self.progress()}; go on without them: key rotate --go-on")
        member = self._runner.membership
        assert member.ring is not None
        others = {n: public for n, public in Roster.load(self._roster_path).members.items() if n != self._runner.id}
        key = rekeying.new_key(member.ring)
        ephemeral, boxes = rekeying.boxes(key.secret, member.ring.group, others)
        self._use(rekeying.after_step(member.ring, KEYS, key.id, key), self._runner.id)
        step = Step(KEYS, key.id, ephemeral, boxes)
        self._conduct(_Conducted(step, sorted(others)))
        await self._publish(step)
        await self._advance()

    async def go_on(self) -> None:
        if self._conducted is None:
            raise InputError("no rotation is under way")
        self._conducted.members = [n for n in self._conducted.members if n in self._conducted.taken]
        await self._advance()

    async def _advance(self) -> None:
        """Begin the next steps, as long as nobody is missing."""
        self._catch_up()
        while self._conducted is not None and not self._conducted.missing():
            conducted = self._conducted
            if conducted.step.step == ONLY:
                log.info("the group's key was rotated: %04x", conducted.step.key)
                self._conduct(None)
                return
            step = Step(conducted.step.step + 1, conducted.step.key)
            self._conduct(_Conducted(step, conducted.members))
            await self._publish(step)
            self._catch_up()

    def _catch_up(self) -> None:
        """Take the steps that others were asked to take: if this node was killed in between, it has not."""
        ring = self._runner.membership.ring
        if self._conducted is None or ring is None:
            return
        present = self._conducted.step
        if present.key not in ring.by_id:
            log.warning("the key file was replaced: the rotation to the key %04x ends", present.key)
            self._conduct(None)
            return
        for step in range(SEND, present.step + 1):
            ring = rekeying.after_step(ring, step, present.key)
        if ring is not self._runner.membership.ring:
            self._use(ring, self._runner.id)

    def _conduct(self, conducted: _Conducted | None) -> None:
        self._conducted = conducted
        self._values.store("rotation", b"" if conducted is None else msgspec.msgpack.encode(conducted))

    # ---- taking part

    def takes(self, event: Event) -> bool:
        """Whether a delivered event belongs to a rotation: then it is not for applications."""
        if event.topic != TOPIC or not self._able():
            return False
        with suppress(Malformed):
            message = rekeying.decoded(event.payload)
            if isinstance(message, Step):
                self._later(self._take(message, event))
            else:
                self._later(self._taken(message, event.publisher))
        return True

    async def _take(self, step: Step, event: Event) -> None:
        member, rotator = self._runner.membership, event.publisher
        assert member.ring is not None
        assert member.roster is not None
        stored, new = _stored(self._values), None
        public = member.roster.members.get(rotator, b"")
        if stored is not None and event.id <= stored.newest.get(public, 0):
            return  # an old one comes again
        if step.step == KEYS:
            new = rekeying.opened(step, self._runner.id, self._values.load("identity") or b"", member.ring.group)
            if new is None:
                log.warning("the group gets a new key, and this node is left out of it")
                return
            if rekeying.digest(new) in _dropped(stored, member.ring, member.ring):
                log.warning("node %d offers the key %04x, which was dropped before: refused", rotator, new.id)
                return
        elif stored is None or stored.rotator != rotator:
            return  # a step of a rotation that this node knows nothing of
        ring = rekeying.after_step(member.ring, step.step, step.key, new)
        if ring is not member.ring:
            self._use(ring, rotator)
        if rekeying.has_taken(ring, step.step, step.key):
            await self._publish(Taken(step.step, step.key))
            self._remember(public, event.id)

    def _remember(self, public: bytes, id: int) -> None:
        """After the answer: a node that is killed before it has answered does so when the step comes again."""
        stored = _stored(self._values)
        if stored is not None:
            stored.newest[public] = max(id, stored.newest.get(public, 0))
            self._values.store("ring", msgspec.msgpack.encode(stored))

    async def _taken(self, message: Taken, number: int) -> None:
        conducted = self._conducted
        if conducted is None or (message.step, message.key) != (conducted.step.step, conducted.step.key):
            return
        if number in conducted.missing():
            conducted.taken.append(number)
            self._conduct(conducted)
            await self._advance()

    # ---- both

    def _use(self, ring: KeyRing, rotator: int) -> None:
        """The keys are on disk before anybody sends under them."""
        old, before = _stored(self._values), self._runner.membership.ring
        assert before is not None
        stored = _Stored(_digest(self._key_path), ring.text(), rotator, _dropped(old, before, ring))
        stored.newest = {} if old is None else old.newest
        self._values.store("ring", msgspec.msgpack.encode(stored))
        self._runner.use(ring)

    async def _publish(self, message: Step | Taken) -> None:
        await self._publishing.publish(TOPIC, {}, rekeying.encoded(message), VALID_US, GLOBAL)

    def _later(self, work: object) -> None:
        task = asyncio.ensure_future(_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _logged(work: object) -> None:
    try:
        await work  # type: ignore[misc]
    except RoamcastError as error:
        log.error("a rotation of the group's key: %s", error)
