"""Durable values: the few named values that must survive a restart.

A value is on disk once `store` has returned. A process that is killed in the middle of `store` finds the old value or
the new one when it starts again, and never a part of either. The names are fixed:

    identity    the seed of the node's Ed25519 key, 32 bytes
    boot        the number of the latest boot, 8 bytes
    sequence    the highest number of an own event that is reserved, 8 bytes
    heard       the boots and counters of peers, some kilobytes, every five minutes
    alive       when the node was last known to run, 8 bytes, every five minutes
    ring        the group's keys after a rotation over the air, and which key file they came from
    rotation    the rotation that this node conducts
    keys        the keys of the last publications that had one, 4 kilobytes
    number      the number of an insecure node, 4 bytes
    clock, unchecked    for `keep.store.Store` alone

`keep.store.Store` keeps them in SQLite together with everything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod


class DurableValues(ABC):
    @abstractmethod
    def load(self, name: str) -> bytes | None:
        """The value that was stored last under this name; None if there is none."""

    @abstractmethod
    def store(self, name: str, value: bytes) -> None:
        """The value is on disk when this returns; the old value stays complete until then."""


class MemoryValues(DurableValues):
    """Values that are lost when the process ends: for tests, and for nodes that are new at every start."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def load(self, name: str) -> bytes | None:
        return self.values.get(name)

    def store(self, name: str, value: bytes) -> None:
        self.values[name] = value
