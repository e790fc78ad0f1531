"""Implicit acknowledgements, as LoRa meshes have them: who hears a neighbour relay an event knows that it was received.

A publisher that hears no relay of its event within some time sends it again, a few times at most.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.interface import Host, reason
from roamcast.pubsub.event import Event

NOT_RELAYED: Final = reason("forward", "not relayed", "nobody was heard to relay {event}; {value} tries are left")
RELAYED: Final = reason("note", "relayed", "{peer} relays {event}, so it has received it")

EAGER: Final = ("router", "repeater")
"""Roles of nodes that relay before all others, and only stop when they have heard one copy more."""
RETRIES: Final = 3
RETRY_S: Final = 4.5
"""How often a publisher sends again, and how long it waits beside the time that relays need: as Meshtastic's firmware
does."""
NO_AGE: Final = -1
MOST: Final = 1024
"""Events of one node that wait for a relay."""


@final
class OwnEvent:
    __slots__ = ("event", "since_us", "tries_left")

    def __init__(self, event: Event, since_us: int, tries_left: int) -> None:
        self.event = event
        self.since_us = since_us
        self.tries_left = tries_left


@final
class Echoes:
    """Events that were published here, until a neighbour relays them. Uses the host's timers with their ids."""

    __slots__ = ("host", "own", "retries")

    def __init__(self, host: Host, retries: int) -> None:
        self.host = host
        self.retries = retries
        self.own: dict[int, OwnEvent] = {}

    def publish(self, event: Event, wait_us: int) -> None:
        """Call it before the event is sent for the first time. Of too many, the oldest is not waited for any longer."""
        if len(self.own) >= MOST:
            oldest = next(iter(self.own))
            del self.own[oldest]
            self.host.cancel_timer(oldest)
            self.host.mute(oldest)
        self.own[event.id] = OwnEvent(event, self.host.now(), self.retries)
        self.host.set_timer(event.id, wait_us)

    def relayed(self, id: int, sender: int) -> None:
        del self.own[id]
        self.host.cancel_timer(id)
        self.host.withdraw(id)
        self.host.mute(id)
        self.host.note(RELAYED, id, sender)

    def age_us(self, id: int) -> int:
        """The timer of an event has fired: its age, if it is to be sent again, and NO_AGE if it is not."""
        own = self.own[id]
        age_us = self.host.now() - own.since_us
        if own.tries_left == 0 or age_us >= own.event.validity_us:
            del self.own[id]
            self.host.mute(id)
            return NO_AGE
        own.tries_left -= 1
        self.host.withdraw(id)
        self.host.note(NOT_RELAYED, id, value=own.tries_left)
        return age_us
