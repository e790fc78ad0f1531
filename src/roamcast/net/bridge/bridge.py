"""A bridge between a running node and an MQTT broker. Nothing is lost on the way, whoever of the three is killed.

From the broker to the node: a message is acknowledged when the node has stored its event. If the bridge is killed in
between, the broker sends the message again, marked as repeated and with its old number. Together with a digest these
are the key of the publication, so the node publishes it once.

From the node to the broker: a named subscription of the node moves on when the broker has acknowledged the message. If
the bridge is killed in between, the message is sent again: with quality of service 1 a duplicate is possible, and the
user property `roamcast_event` tells receivers that it is one.

Several bridges may connect one group with one broker. They share their subscription at the broker, so each message goes
to one of them. All of them get the events of their nodes. The one with the lowest number sends, and reports each event
that the broker has; the others wait until they know. If it ends, the next one goes on with what was not reported.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from roamcast.errors import InputError, WrongRequest, one_line
from roamcast.net.bridge import mapping
from roamcast.net.bridge.broker import Broker, Message, Url
from roamcast.net.bridge.ledger import Ledger
from roamcast.net.control.messages import HelloReply, ReceivedEvent
from roamcast.net.control.remote import RemoteNode, RemoteSubscription
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

log: Final = logging.getLogger("roamcast.bridge")

WINDOW: Final = 100
"""How many events may be on their way to the broker."""
AGAIN_S: Final = 1.0
AGAIN_MAX_S: Final = 10.0
PRESENT_S: Final = 45.0
"""A bridge that was not heard of for so long has ended."""
COORDINATION: Final = "roamcast-bridges"
"""The topics by which bridges know of each other begin with this."""
_NUMBER: Final = re.compile(rb"[0-9]{1,20}")
"""Any client of the broker can write there: other digits than these, or thousands of them, are no number."""


class Crossing(NamedTuple):
    """What crosses the bridge, and how."""

    name: str  # of this bridge, among those of one node
    topics: tuple[str, ...]  # topics of MQTT that become events
    only: Filter | None  # of those events, which are published
    out: str  # the filter of events that become messages; empty: none do
    prefix: str  # of their topics
    validity_s: float  # of events from messages that have none
    broker: str  # the broker's name in `mqtt_via`


class Counts:
    def __init__(self) -> None:
        self.taken = 0  # messages that became events
        self.given = 0  # events that became messages
        self.refused = 0  # messages that cannot become events, or events that the broker refused


class Bridge:
    def __init__(self, state: Path, url: Url, crossing: Crossing, ca: str = "") -> None:
        self.counts = Counts()
        self._state = state
        self._url = url
        self._ca = ca
        self._crossing = crossing
        self._ledger = Ledger()
        self._messages: deque[Message] = deque()
        self._tried: Message | None = None  # if the node went away meanwhile, it may have this one
        self._came = asyncio.Event()  # a message came, or the bridge is connected
        self._room = asyncio.Event()  # events may be sent, or some are done
        self._events: dict[int, ReceivedEvent] = {}  # by id, those that are not done
        self._on_way: set[int] = set()  # ids
        self._others: dict[int, float] = {}  # when each other bridge was last known to be there, by number
        self._with = False  # whether the node is there
        self._broker: Broker | None = None
        self._hello: HelloReply | None = None
        self._meeting = ""

    async def run(self) -> None:
        """Runs until it is cancelled. While there is no node, or no broker, it waits for it."""
        pause_s = AGAIN_S
        try:
            while True:
                try:
                    await self._with_node()
                except InputError as error:
                    if self._hello is None:  # at the first start, a wrong state is a mistake
                        raise
                    log.log(logging.WARNING if self._with else logging.DEBUG, "%s; waiting", error)
                    pause_s = AGAIN_S if self._with else min(2 * pause_s, AGAIN_MAX_S)
                    self._with = False
                await asyncio.sleep(pause_s)
        finally:
            if self._broker is not None:
                self._broker.close()

    async def _with_node(self) -> None:
        async with RemoteNode(self._state) as node:
            hello = await node.hello()
            if self._hello is None:
                self._hello = hello
                self._connect(hello)
            elif (hello.node, hello.group) != (self._hello.node, self._hello.group):
                raise InputError("the node has another number or group now: start the bridge again")
            self._with = True
            tasks = [asyncio.create_task(self._take(node)), asyncio.create_task(self._be_present())]
            if self._crossing.out:
                self._begin_giving()
                name = f"bridge-{self._crossing.name}"
                subscription = node.subscribe(self._crossing.out, name=name, acknowledge=True)
                tasks += [asyncio.create_task(self._give(subscription)), asyncio.create_task(self._move(subscription))]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    # ---- the broker

    def _connect(self, hello: HelloReply) -> None:
        crossing = self._crossing
        digest = blake2b(f"{hello.group} {crossing.out} {crossing.prefix}".encode(), digest_size=6).hexdigest()
        self._meeting = f"{COORDINATION}/{hello.group}-{digest}"
        broker = Broker(self._url, f"roamcast-{hello.group}-{hello.node}-{crossing.name}", self._ca)
        broker.on_connected = self._connected
        broker.on_message = self._received
        broker.open(f"{self._meeting}/{hello.node}" if crossing.out else "")
        self._broker = broker

    def _connected(self) -> None:
        assert self._broker is not None
        assert self._hello is not None
        self._messages.clear()  # what was not acknowledged comes again
        self._broker.subscribe([f"$share/roamcast-{self._hello.group}/{topic}" for topic in self._crossing.topics])
        if self._crossing.out:
            self._broker.subscribe([f"{self._meeting}/+"])
            self._greet(self._broker)
            self._send_all()

    def _greet(self, broker: Broker) -> None:
        assert self._hello is not None
        broker.publish(f"{self._meeting}/{self._hello.node}", b"here", retain=True, expiry_s=int(PRESENT_S))

    def _received(self, message: Message) -> None:
        assert self._broker is not None
        if message.topic.startswith(f"{COORDINATION}/"):
            if message.topic.startswith(f"{self._meeting}/"):
                self._meet(message.topic.rpartition("/")[2], message.payload)
            self._broker.acknowledge(message)
            return
        self._messages.append(message)
        self._came.set()

    # ---- from the broker to the node

    async def _take(self, node: RemoteNode) -> None:
        assert self._broker is not None
        while True:
            while self._messages:
                message = self._messages[0]
                try:
                    await self._take_one(node, message)
                except (WrongRequest, ValueError) as error:  # it would be the same the next time
                    self._refused(f"a message on {message.topic}: {one_line(error)}")
                self._broker.acknowledge(message)
                if self._messages and self._messages[0] is message:  # and the broker was there all the time
                    self._messages.popleft()
            self._came.clear()
            await self._came.wait()

    async def _take_one(self, node: RemoteNode, message: Message) -> None:
        assert self._hello is not None
        via = message.properties.get(mapping.VIA, "")
        if mapping.passed(via, self._hello.group):
            return
        topic, attrs, payload = mapping.event_content(message.topic, message.payload, self._crossing.prefix)
        only = self._crossing.only
        if only is not None and not only.matches(Event(1, topic, attrs, payload)):
            return
        attrs[mapping.VIA] = mapping.extended(via, self._crossing.broker)
        validity_s = self._crossing.validity_s if message.expiry_s is None else float(max(message.expiry_s, 1))
        digest = blake2b(message.topic.encode() + b"\0" + message.payload, digest_size=12).hexdigest()
        key = f"{self._crossing.name} {self._crossing.broker} {message.number} {digest}"
        repeated = message.repeated or message is self._tried
        self._tried = message
        await node.publish(topic, attrs, payload, validity_s=validity_s, key=key, repeated=repeated)
        self.counts.taken += 1

    def _refused(self, what: str) -> None:
        self.counts.refused += 1
        log.log(logging.WARNING if self.counts.refused <= 10 else logging.DEBUG, "refused: %s", what)

    # ---- from the node to the broker

    def _begin_giving(self) -> None:
        self._ledger.begin()
        self._events.clear()

    async def _give(self, subscription: RemoteSubscription) -> None:
        async for event in subscription:
            self._room.set()
            if mapping.passed(event.attrs.get(mapping.VIA), self._crossing.broker):
                self._ledger.skip(event.position)
            elif self._ledger.add(event.position, event.id):
                self._events[event.id] = event
                self._send_all()
            while len(self._ledger) >= WINDOW:
                await asyncio.sleep(0.05)

    def _send_all(self) -> None:
        """Send what is not on its way, if this bridge is the one that sends."""
        if self._broker is None or not self._broker.connected or not self._first():
            return
        for id in self._ledger.undone():
            if id not in self._on_way:
                self._on_way.add(id)
                self._send(self._events[id])

    def _send(self, event: ReceivedEvent) -> None:
        assert self._broker is not None
        assert self._hello is not None

        def then(refused: str) -> None:
            self._on_way.discard(event.id)
            if refused:
                self._refused(f"event {event.id} by the broker: {refused}")
            else:
                self.counts.given += 1
            self._done(event.id)
            if self._others and self._broker is not None:
                self._broker.publish(f"{self._meeting}/done", str(event.id).encode())

        self._broker.publish(
            mapping.mqtt_topic(event.topic, self._crossing.prefix),
            mapping.message_payload(event),
            then,
            expiry_s=None if event.validity_s is None else max(int(event.validity_s), 1),
            properties={
                mapping.EVENT: str(event.id),
                mapping.VIA: mapping.extended(event.attrs.get(mapping.VIA), self._hello.group),
            },
        )

    def _done(self, id: int) -> None:
        self._ledger.done(id)
        self._events.pop(id, None)
        self._room.set()

    async def _move(self, subscription: RemoteSubscription) -> None:
        """Move the node's subscription on as events are done."""
        moved = 0
        while True:
            await self._room.wait()
            self._room.clear()
            position = self._ledger.position()
            if position > moved:
                moved = position
                await subscription.done(position)

    # ---- other bridges

    def _first(self) -> bool:
        """Whether no bridge with a lower number is there."""
        assert self._hello is not None
        since = asyncio.get_running_loop().time() - PRESENT_S
        return all(number > self._hello.node for number, seen in self._others.items() if seen > since)

    async def _be_present(self) -> None:
        """Tell other bridges again and again that this one is there, and take over from one that is not."""
        while self._crossing.out:
            await asyncio.sleep(PRESENT_S / 3)
            if self._broker is not None and self._broker.connected:
                self._greet(self._broker)
                self._send_all()

    def _meet(self, what: str, payload: bytes) -> None:
        """Another bridge is there, has ended, or reports an event that the broker has."""
        assert self._hello is not None
        if what == "done":
            if _NUMBER.fullmatch(payload):
                self._done(int(payload))
        elif _NUMBER.fullmatch(what.encode()) and int(what) != self._hello.node:
            if payload:
                self._others[int(what)] = asyncio.get_running_loop().time()
            else:
                self._others.pop(int(what), None)
                self._send_all()
