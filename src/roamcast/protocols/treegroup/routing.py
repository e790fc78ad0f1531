"""Events on their way: inside a group (Li §3.2), and from group to group (§3.3).

An event climbs to the leader and, on the way, goes down every branch whose bitmap it passes. The leader chooses the
adjacent groups to tell; the event goes down to the gateway of each (`targets`) and across to somebody there, for whom
it is like a publication. What does not get through is held, sent another way, or dropped with a reason.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.interface import NOBODY, reason
from roamcast.protocols.kit.subscriptions import Subscriptions
from roamcast.protocols.treegroup.bloom_routing import Masks, passes
from roamcast.protocols.treegroup.frames import ACROSS, DOWN, MAX_GROUPS, REACH_MAX, UNKNOWN, UP, GroupEvent
from roamcast.protocols.treegroup.gateways import peer_in
from roamcast.protocols.treegroup.index import Index
from roamcast.protocols.treegroup.tables import Part, Tables
from roamcast.pubsub.event import FOREVER, LOCAL, Event

CLIMBED: Final = reason("forward", "to parent", "{event} goes up to {peer}")
BRANCHED: Final = reason("forward", "to child", "{event} passes the bitmap of {peer}")
TO_GATEWAY: Final = reason("forward", "to gateway", "{event} goes down to a gateway by {peer}")
CROSSED: Final = reason("forward", "to group", "{event} crosses to the group of {peer}")
HELD: Final = reason("delay", "no parent", "{event} waits for a parent")
NO_BRANCH: Final = reason("suppress", "no branch", "{event}: no bitmap here passes it")
GAVE_BACK: Final = reason("forward", "gave back", "{event}: no way to a group any more, {peer} is to find another")
FAR_ENOUGH: Final = reason("suppress", "far enough", "{event} is local and goes no farther")
NO_LINK: Final = reason("drop", "no link", "{event}: nobody of that group is in reach")
NEVER_LEFT: Final = reason("drop", "no parent", "{event} found no parent in time")
LOST_DOWN: Final = reason("drop", "lost child", "{event} did not reach {peer}")
LOST_BACK: Final = reason("drop", "not given back", "{event}: {peer} could not be told that a group is out of reach")
NO_OTHER_WAY: Final = reason("drop", "no other way", "{event}: another way to that group was looked for already")
TOO_MANY: Final = reason("drop", "too many groups", "{event} has been sent towards {value} groups")
STRANGER: Final = reason("drop", "stranger", "{event}: {peer}, no tree neighbour on that side, names groups")
FORGOTTEN: Final = reason(
    "drop", "lost and forgotten", "{event} did not reach {peer}, and newer events have taken its place"
)
RESTARTED: Final = reason("drop", "restart", "{event} was waiting for a parent when the node went down")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")


def slot(id: int) -> int:
    """Where an event is kept: another int for each id. In the low bits of ids, which is where dicts look first, all
    publishers' first events are alike; here they differ."""
    return id ^ id >> 32 << 3


@final
class Passage:
    """An event that a node has: what it needs to send it on, the groups it was sent towards, and those it had to be
    sent towards again. All three lists of groups have room for MAX_GROUPS."""

    __slots__ = ("again", "born_us", "event", "groups", "groups_size", "held_us", "masks", "reach", "towards")

    def __init__(
        self, event: Event, masks: Masks, reach: int, groups: list[int], groups_size: int, age_us: int, now_us: int
    ) -> None:
        self.event = event
        self.masks = masks
        self.reach = reach
        self.groups = groups
        self.groups_size = groups_size
        self.born_us = now_us - age_us
        self.held_us = 0
        self.towards: tuple[int, ...] = ()
        self.again: tuple[int, ...] = ()

    def is_expired(self, now_us: int) -> bool:
        return now_us - self.born_us >= self.event.validity_us

    def frame(self, way: int, targets: list[int], now_us: int) -> GroupEvent:
        """The event as it leaves now; a group that it enters counts (R12)."""
        reach = self.reach
        if way == ACROSS and reach != REACH_MAX:
            reach -= 1
        age_us = min(now_us - self.born_us, FOREVER)
        frame = GroupEvent(self.event, way, age_us, reach, self.groups, targets, self.masks, self.groups_size)
        self.groups_size = frame.groups_size
        return frame


@final
class Routing(Part):
    """A node's part in routing. The index and the subscriptions are the protocol's own."""

    def __init__(self, tables: Tables, index: Index, subscriptions: Subscriptions) -> None:
        super().__init__(tables)
        self.climbs = tables.params.climb == "always"
        self.believes_all = tables.params.strangers == "believed"
        self.hold_us = round(tables.params.hold_s * 1_000_000)
        self.index = index
        self.subscriptions = subscriptions
        self.passages: dict[int, Passage] = {}  # by slot
        self.waiting: list[Passage] = []

    # ---- inside the group (§3.2)

    def publish(self, event: Event) -> None:
        reach = self.params.local_groups if event.scope == LOCAL else REACH_MAX
        passage = Passage(event, Masks(event), reach, [], UNKNOWN, 0, self.host.now())
        self.remember(passage)
        self.spread(passage, UP, NOBODY, [])

    def on_event(self, frame: GroupEvent, sender: int) -> None:
        event = frame.event
        if frame.age_us >= event.validity_us:  # R19
            self.host.note(EXPIRED, event.id)
            return
        targets = frame.targets
        if targets and not self.may_direct(frame, sender):
            self.host.note(STRANGER, event.id, sender)
            targets = []
        passage = self.passages.get(slot(event.id))
        if passage is not None:
            if frame.way == UP:
                self.try_another_way(passage, targets)
            else:
                self.send_down(passage, [], targets)
            return
        masks = Masks(event) if frame.masks is None else frame.masks
        now = self.host.now()
        passage = Passage(event, masks, frame.reach, frame.groups, frame.groups_size, frame.age_us, now)
        self.remember(passage)
        self.deliver(event)
        self.spread(passage, frame.way, sender, targets)

    def may_direct(self, frame: GroupEvent, sender: int) -> bool:
        """Who may name groups: the parent on the way down, and a child that gives the event back (R20)."""
        if self.believes_all:
            return True
        return sender == self.place.parent if frame.way == DOWN else sender in self.children

    def remember(self, passage: Passage) -> None:
        if len(self.passages) >= self.params.seen:
            del self.passages[next(iter(self.passages))]
        self.passages[slot(passage.event.id)] = passage
        self.host.mute(passage.event.id)

    def deliver(self, event: Event) -> None:
        """The bitmap may be wrong, the subscriptions are not (§3.6)."""
        if event.publisher != self.host.id and self.subscriptions.match(event):
            self.host.deliver(event)

    def spread(self, passage: Passage, way: int, sender: int, targets: list[int]) -> None:
        """The first time an event is here: down every branch that it passes, and up unless it came from there."""
        masks = passage.masks.of(self.params.bits, self.params.hashes)
        branches: list[int] = []
        for child in self.children.values():
            if child.id != sender and passes(child.bitmap, masks):
                branches.append(child.id)
        if way == DOWN:
            if not branches and not targets:
                self.host.note(NO_BRANCH, passage.event.id)
            self.send_down(passage, branches, targets)
        elif self.place.is_root():
            self.send_down(passage, branches, self.groups_to_tell(passage))
        else:
            self.send_down(passage, branches, [])
            if self.climbs or not (branches or passes(self.index.local, masks)):  # R4
                self.climb(passage)

    def climb(self, passage: Passage) -> None:
        if self.place.is_root():
            self.send_down(passage, [], self.groups_to_tell(passage))
        elif self.place.parent != NOBODY:
            self.host.note(CLIMBED, passage.event.id, self.place.parent)
            self.host.send(self.place.parent, passage.frame(UP, [], self.host.now()))
        else:
            self.hold(passage)

    def send_down(self, passage: Passage, branches: list[int], targets: list[int]) -> None:
        """To every child in `branches`, and towards the gateways of the groups in `targets`, one frame for each."""
        if targets:
            self.send_towards(passage, branches, targets)
        elif branches:
            frame = passage.frame(DOWN, [], self.host.now())
            for child in branches:
                self.host.note(BRANCHED, passage.event.id, child)
                self.host.send(child, frame)

    # ---- from group to group (§3.3)

    def groups_to_tell(self, passage: Passage) -> list[int]:
        """The leader's choice: every adjacent group that was not told yet (R13)."""
        if passage.reach == 0:
            return []
        untold = [tree for tree in self.index.routes if tree not in passage.groups]
        passage.groups = [*passage.groups, self.place.tree, *untold][-MAX_GROUPS:]
        passage.groups_size = UNKNOWN
        return untold

    def send_towards(self, passage: Passage, branches: list[int], targets: list[int]) -> None:
        ways: dict[int, list[int]] = {child: [] for child in branches}
        for tree in targets:
            if tree in passage.towards:
                continue
            if len(passage.towards) >= MAX_GROUPS:
                self.host.note(TOO_MANY, passage.event.id, value=MAX_GROUPS)
                break
            passage.towards += (tree,)
            route = self.index.routes.get(tree)
            if route is None:
                self.give_back(passage, tree)
            elif route.via == NOBODY:
                self.cross(passage, tree)
            else:
                ways.setdefault(route.via, []).append(tree)
        for child, wanted in ways.items():
            self.host.note(TO_GATEWAY if wanted else BRANCHED, passage.event.id, child)
            self.host.send(child, passage.frame(DOWN, wanted, self.host.now()))

    def cross(self, passage: Passage, tree: int) -> None:
        """From the gateway to its peer in the other group, or to whoever else of that group is in reach."""
        if passage.reach == 0:  # it came here another way first, and has gone as far as it may (R12)
            self.host.note(FAR_ENOUGH, passage.event.id)
            return
        peer = peer_in(tree, self.hearing, self.neighbours)
        if peer is None:
            self.try_another_way(passage, [tree])
            return
        self.host.note(CROSSED, passage.event.id, peer.id)
        self.host.send(peer.id, passage.frame(ACROSS, [], self.host.now()))

    # ---- what did not get through

    def lost(self, frame: GroupEvent, to: int) -> None:
        """`send` gave up. Up: with the next parent again. Across: to somebody else there. Down: the branch is gone."""
        passage = self.passages.get(slot(frame.event.id))
        if passage is None:
            self.host.note(FORGOTTEN, frame.event.id, to)
        elif passage.is_expired(self.host.now()):  # R19
            self.host.note(EXPIRED, frame.event.id)
        elif frame.way == UP:
            if frame.targets:
                self.host.note(LOST_BACK, frame.event.id, to)
            else:
                self.hold(passage)
        elif frame.way == ACROSS:
            neighbour = self.neighbours.get(to)
            if neighbour is not None and neighbour.tree != self.place.tree:
                self.cross(passage, neighbour.tree)
            else:
                self.host.note(NO_LINK, frame.event.id)
        else:
            self.host.note(LOST_DOWN, frame.event.id, to)
            self.try_another_way(passage, frame.targets)

    def try_another_way(self, passage: Passage, targets: list[int]) -> None:
        """What led to these groups does not any more: once, look for another gateway, here or above (R16)."""
        room = MAX_GROUPS - len(passage.again)
        again = [tree for tree in targets if tree not in passage.again][:room]
        if not again:
            if targets:
                self.host.note(NO_OTHER_WAY, passage.event.id)
            return
        passage.again += tuple(again)
        passage.towards = tuple([tree for tree in passage.towards if tree not in again])
        self.index.find_routes()
        self.index.tell_records()
        self.send_down(passage, [], again)

    def give_back(self, passage: Passage, tree: int) -> None:
        if self.place.parent == NOBODY:
            self.host.note(NO_LINK, passage.event.id)
            return
        self.host.note(GAVE_BACK, passage.event.id, self.place.parent)
        self.host.send(self.place.parent, passage.frame(UP, [tree], self.host.now()))

    # ---- events that wait for a parent (R14)

    def hold(self, passage: Passage) -> None:
        self.host.note(HELD, passage.event.id)
        passage.held_us = self.host.now()
        self.waiting.append(passage)
        if len(self.waiting) > self.params.held:
            self.host.note(NEVER_LEFT, self.waiting.pop(0).event.id)

    def release(self) -> None:
        """There is a parent again."""
        waiting, self.waiting = self.waiting, []
        now = self.host.now()
        for passage in waiting:
            if passage.is_expired(now):  # R19
                self.host.note(EXPIRED, passage.event.id)
            else:
                self.climb(passage)

    def drop_the_late(self) -> None:
        now = self.host.now()
        while self.waiting and now - self.waiting[0].held_us > self.hold_us:
            self.host.note(NEVER_LEFT, self.waiting.pop(0).event.id)

    def restart(self) -> None:
        """The node was down: whoever the events were meant for had them by another way, or has them no more."""
        for passage in self.waiting:
            self.host.note(RESTARTED, passage.event.id)
        self.waiting = []
