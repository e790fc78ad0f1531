"""Events on their way: inside a group (Li et al. §3.2), and from group to group (§3.3).

An event climbs to the leader and, on the way, goes down every branch whose bitmap it passes. The leader chooses the
adjacent groups that it is to enter. The event goes down to the gateway of each group (`targets`) and across to a node
there. That node handles it like an event that it publishes. An event that does not get through waits, is sent another
way, or is dropped with a reason.
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
GAVE_BACK: Final = reason("forward", "gave back", "{event}: the way to a group is lost, and {peer} looks for another")
FAR_ENOUGH: Final = reason("suppress", "far enough", "{event} is local and goes no farther")
NO_LINK: Final = reason("drop", "no link", "{event}: no node of that group is in range")
NEVER_LEFT: Final = reason("drop", "no parent", "{event} found no parent in time")
LOST_DOWN: Final = reason("drop", "lost child", "{event} did not reach {peer}")
LOST_BACK: Final = reason("drop", "not given back", "{event}: the way to a group is lost, and {peer} cannot be reached")
NO_OTHER_WAY: Final = reason("drop", "no other way", "{event}: another way to that group was tried already")
TOO_MANY: Final = reason("drop", "too many groups", "{event} has been sent towards {value} groups")
STRANGER: Final = reason("drop", "stranger", "{event}: {peer} names groups, but is not a tree neighbour on that side")
FORGOTTEN: Final = reason(
    "drop", "lost and forgotten", "{event} did not reach {peer}, and newer events have taken its place"
)
RESTARTED: Final = reason("drop", "restart", "{event} was waiting for a parent when the node went down")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")


def slot(id: int) -> int:
    """The key of an event: a different int for each id.

    A dict looks at the low bits first. In ids these are the same for the first events of all publishers; here they
    differ.
    """
    return id ^ id >> 32 << 3


@final
class RoutedEvent:
    """An event that a node has, with what is needed to forward it.

    `groups` are those that it came through, `towards` those that it was sent towards, and `retried` those that it had
    to be sent towards again. Each list has room for MAX_GROUPS.
    """

    __slots__ = (
        "born_us",
        "event",
        "groups",
        "groups_size",
        "masks",
        "reach",
        "retried",
        "towards",
        "waiting_since_us",
    )

    def __init__(
        self, event: Event, masks: Masks, reach: int, groups: list[int], groups_size: int, age_us: int, now_us: int
    ) -> None:
        self.event = event
        self.masks = masks
        self.reach = reach
        self.groups = groups
        self.groups_size = groups_size
        self.born_us = now_us - age_us
        self.waiting_since_us = 0
        self.towards: tuple[int, ...] = ()
        self.retried: tuple[int, ...] = ()

    def is_expired(self, now_us: int) -> bool:
        return now_us - self.born_us >= self.event.validity_us

    def frame(self, way: int, targets: list[int], now_us: int) -> GroupEvent:
        """The frame to send now. Each group that the event enters counts (R12)."""
        reach = self.reach
        if way == ACROSS and reach != REACH_MAX:
            reach -= 1
        age_us = min(now_us - self.born_us, FOREVER)
        frame = GroupEvent(self.event, way, age_us, reach, self.groups, targets, self.masks, self.groups_size)
        self.groups_size = frame.groups_size
        return frame


@final
class Routing(Part):
    """A node's part in routing. It shares the index and the subscriptions with the protocol."""

    def __init__(self, tables: Tables, index: Index, subscriptions: Subscriptions) -> None:
        super().__init__(tables)
        self.climbs = tables.params.climb == "always"
        self.believes_all = tables.params.strangers == "believed"
        self.hold_us = round(tables.params.hold_s * 1_000_000)
        self.index = index
        self.subscriptions = subscriptions
        self.events: dict[int, RoutedEvent] = {}  # by slot
        self.waiting: list[RoutedEvent] = []

    # ---- inside the group (§3.2)

    def publish(self, event: Event) -> None:
        reach = self.params.local_groups if event.scope == LOCAL else REACH_MAX
        routed = RoutedEvent(event, Masks(event), reach, [], UNKNOWN, 0, self.host.now())
        self.remember(routed)
        self.spread(routed, UP, NOBODY, [])

    def on_event(self, frame: GroupEvent, sender: int) -> None:
        event = frame.event
        if frame.age_us >= event.validity_us:  # R19
            self.host.note(EXPIRED, event.id)
            return
        targets = frame.targets
        if targets and not self.may_direct(frame, sender):
            self.host.note(STRANGER, event.id, sender)
            targets = []
        routed = self.events.get(slot(event.id))
        if routed is not None:
            if frame.way == UP:
                self.try_another_way(routed, targets)
            else:
                self.send_down(routed, [], targets)
            return
        masks = Masks(event) if frame.masks is None else frame.masks
        now = self.host.now()
        routed = RoutedEvent(event, masks, frame.reach, frame.groups, frame.groups_size, frame.age_us, now)
        self.remember(routed)
        self.deliver(event)
        self.spread(routed, frame.way, sender, targets)

    def may_direct(self, frame: GroupEvent, sender: int) -> bool:
        """Whether the sender may name groups: the parent on the way down, a child that gives the event back (R20)."""
        if self.believes_all:
            return True
        return sender == self.place.parent if frame.way == DOWN else sender in self.children

    def remember(self, routed: RoutedEvent) -> None:
        if len(self.events) >= self.params.seen:
            del self.events[next(iter(self.events))]
        self.events[slot(routed.event.id)] = routed
        self.host.mute(routed.event.id)

    def deliver(self, event: Event) -> None:
        """Bitmaps have false positives (§3.6); the subscriptions decide."""
        if event.publisher != self.host.id and self.subscriptions.match(event):
            self.host.deliver(event)

    def spread(self, routed: RoutedEvent, way: int, sender: int, targets: list[int]) -> None:
        """The first time an event is here: send it down every branch that it passes, and up unless it came down."""
        masks = routed.masks.of(self.params.bits, self.params.hashes)
        branches: list[int] = []
        for child in self.children.values():
            if child.id != sender and passes(child.bitmap, masks):
                branches.append(child.id)
        if way == DOWN:
            if not branches and not targets:
                self.host.note(NO_BRANCH, routed.event.id)
            self.send_down(routed, branches, targets)
        elif self.place.is_root():
            self.send_down(routed, branches, self.groups_to_enter(routed))
        else:
            self.send_down(routed, branches, [])
            if self.climbs or not (branches or passes(self.index.local, masks)):  # R4
                self.climb(routed)

    def climb(self, routed: RoutedEvent) -> None:
        if self.place.is_root():
            self.send_down(routed, [], self.groups_to_enter(routed))
        elif self.place.parent != NOBODY:
            self.host.note(CLIMBED, routed.event.id, self.place.parent)
            self.host.send(self.place.parent, routed.frame(UP, [], self.host.now()))
        else:
            self.wait_for_parent(routed)

    def send_down(self, routed: RoutedEvent, branches: list[int], targets: list[int]) -> None:
        """Send it to every child in `branches` and towards the gateways of the groups in `targets`, a frame for
        each."""
        if targets:
            self.send_towards(routed, branches, targets)
        elif branches:
            frame = routed.frame(DOWN, [], self.host.now())
            for child in branches:
                self.host.note(BRANCHED, routed.event.id, child)
                self.host.send(child, frame)

    # ---- from group to group (§3.3)

    def groups_to_enter(self, routed: RoutedEvent) -> list[int]:
        """The leader's choice: every adjacent group that the event was not sent to yet (R13)."""
        if routed.reach == 0:
            return []
        new_groups = [tree for tree in self.index.routes if tree not in routed.groups]
        routed.groups = [*routed.groups, self.place.tree, *new_groups][-MAX_GROUPS:]
        routed.groups_size = UNKNOWN
        return new_groups

    def send_towards(self, routed: RoutedEvent, branches: list[int], targets: list[int]) -> None:
        ways: dict[int, list[int]] = {child: [] for child in branches}
        for tree in targets:
            if tree in routed.towards:
                continue
            if len(routed.towards) >= MAX_GROUPS:
                self.host.note(TOO_MANY, routed.event.id, value=MAX_GROUPS)
                break
            routed.towards += (tree,)
            route = self.index.routes.get(tree)
            if route is None:
                self.give_back(routed, tree)
            elif route.via == NOBODY:
                self.cross(routed, tree)
            else:
                ways.setdefault(route.via, []).append(tree)
        for child, groups in ways.items():
            self.host.note(TO_GATEWAY if groups else BRANCHED, routed.event.id, child)
            self.host.send(child, routed.frame(DOWN, groups, self.host.now()))

    def cross(self, routed: RoutedEvent, tree: int) -> None:
        """Send it from the gateway to a neighbour in the other group."""
        if routed.reach == 0:  # it came here another way first, and may not enter another group (R12)
            self.host.note(FAR_ENOUGH, routed.event.id)
            return
        peer = peer_in(tree, self.link_quality, self.neighbours)
        if peer is None:
            self.try_another_way(routed, [tree])
            return
        self.host.note(CROSSED, routed.event.id, peer.id)
        self.host.send(peer.id, routed.frame(ACROSS, [], self.host.now()))

    # ---- events that did not get through

    def undelivered(self, frame: GroupEvent, to: int) -> None:
        """Up: it waits for the next parent. Across: another neighbour there gets it. Down: the branch is gone."""
        routed = self.events.get(slot(frame.event.id))
        if routed is None:
            self.host.note(FORGOTTEN, frame.event.id, to)
        elif routed.is_expired(self.host.now()):  # R19
            self.host.note(EXPIRED, frame.event.id)
        elif frame.way == UP:
            if frame.targets:
                self.host.note(LOST_BACK, frame.event.id, to)
            else:
                self.wait_for_parent(routed)
        elif frame.way == ACROSS:
            neighbour = self.neighbours.get(to)
            if neighbour is not None and neighbour.tree != self.place.tree:
                self.cross(routed, neighbour.tree)
            else:
                self.host.note(NO_LINK, frame.event.id)
        else:
            self.host.note(LOST_DOWN, frame.event.id, to)
            self.try_another_way(routed, frame.targets)

    def try_another_way(self, routed: RoutedEvent, targets: list[int]) -> None:
        """The gateway to these groups is lost: look for another one, here or above, once for each group (R16)."""
        room = MAX_GROUPS - len(routed.retried)
        retry = [tree for tree in targets if tree not in routed.retried][:room]
        if not retry:
            if targets:
                self.host.note(NO_OTHER_WAY, routed.event.id)
            return
        routed.retried += tuple(retry)
        routed.towards = tuple([tree for tree in routed.towards if tree not in retry])
        self.index.find_routes()
        self.index.advertise_records()
        self.send_down(routed, [], retry)

    def give_back(self, routed: RoutedEvent, tree: int) -> None:
        if self.place.parent == NOBODY:
            self.host.note(NO_LINK, routed.event.id)
            return
        self.host.note(GAVE_BACK, routed.event.id, self.place.parent)
        self.host.send(self.place.parent, routed.frame(UP, [tree], self.host.now()))

    # ---- events that wait for a parent (R14)

    def wait_for_parent(self, routed: RoutedEvent) -> None:
        self.host.note(HELD, routed.event.id)
        routed.waiting_since_us = self.host.now()
        self.waiting.append(routed)
        if len(self.waiting) > self.params.held:
            self.host.note(NEVER_LEFT, self.waiting.pop(0).event.id)

    def send_waiting(self) -> None:
        """The node has a parent again, or leads."""
        waiting, self.waiting = self.waiting, []
        now = self.host.now()
        for routed in waiting:
            if routed.is_expired(now):  # R19
                self.host.note(EXPIRED, routed.event.id)
            else:
                self.climb(routed)

    def drop_late(self) -> None:
        now = self.host.now()
        while self.waiting and now - self.waiting[0].waiting_since_us > self.hold_us:
            self.host.note(NEVER_LEFT, self.waiting.pop(0).event.id)

    def restart(self) -> None:
        """The node was down: the events that waited reached their subscribers another way, or are of no use now."""
        for routed in self.waiting:
            self.host.note(RESTARTED, routed.event.id)
        self.waiting = []
