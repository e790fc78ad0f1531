"""Who a node is: an Ed25519 key, the number that goes with it, and what it must remember from one life to the next.

Protocols know nodes by numbers of 31 bits (so do the log and the ids of events). A number is bound to a key in one of
two ways, and in no other:

  - by default it is computed from the public key: nobody hands numbers out, and a publication proves its publisher by
    itself. 31 bits are few: two of a thousand nodes share a number with a probability of 0.02 %, which both notice
    (`identity conflict`), and a member of the group who tries two thousand million keys can make one for a number of
    his choice. Against him the first key heard for a number holds as long as it is remembered;
  - a roster, a file that lists numbers and public keys, binds them for good. Numbers can then be small, which saves
    bytes on the air, and a member who is not listed cannot publish.

A number says who *published* an event. Who *sent* a frame is known no better than that he has the group key: frames
are not signed (docs/explanation/security.md).
"""

from __future__ import annotations

import secrets
import time
import tomllib
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from roamcast.errors import InputError
from roamcast.net.packet import NODE_MAX
from roamcast.net.security import KeyRing
from roamcast.net.vault import MemoryVault, Vault

PUBLIC_BYTES: Final = 32
SEQUENCE_MAX: Final = (1 << 32) - 1
SEQUENCE_BLOCK: Final = 256
_FINE_BITS: Final = 16


def node_number(public: bytes) -> int:
    """The number that a public key gives."""
    digest = blake2b(public, digest_size=4, person=b"roamcast number1").digest()
    return int.from_bytes(digest, "big") & NODE_MAX


class Identity:
    """A node's own key. It signs, and never leaves the node."""

    def __init__(self, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = self._key.public_key().public_bytes_raw()

    @classmethod
    def of(cls, vault: Vault) -> Identity:
        """The one in the vault; the first time, a new one that goes there."""
        seed = vault.load("identity")
        if seed is None:
            seed = secrets.token_bytes(32)
            vault.store("identity", seed)
        if len(seed) != 32:
            raise InputError(f"the identity in the vault has {len(seed)} bytes, not 32")
        return cls(seed)

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)


class Roster:
    """Numbers and public keys of all who may publish."""

    def __init__(self, members: Mapping[int, bytes]) -> None:
        self.members = dict(members)
        for number, public in self.members.items():
            if not 0 <= number <= NODE_MAX:
                raise InputError(f"roster: {number} is no node number (0 to {NODE_MAX})")
            if len(public) != PUBLIC_BYTES:
                raise InputError(f"roster: the key of {number} has {len(public)} bytes, not {PUBLIC_BYTES}")
        self.numbers = {public: number for number, public in self.members.items()}
        if len(self.numbers) != len(self.members):
            raise InputError("roster: two numbers have the same key")

    @classmethod
    def load(cls, path: str | Path) -> Roster:
        """A TOML file: `[members]`, and for each a line `7 = "public key in hexadecimal"`."""
        try:
            found: dict[str, Any] = tomllib.loads(Path(path).read_text())
            members = found["members"]
            return cls({int(number): bytes.fromhex(public) for number, public in members.items()})
        except FileNotFoundError:
            raise InputError(f"there is no roster {path}") from None
        except (OSError, KeyError, TypeError, ValueError, AttributeError):
            raise InputError(f'{path} is no roster: it needs [members] with lines like 7 = "public key"') from None

    def text(self) -> str:
        return "[members]\n" + "".join(f'{number} = "{public.hex()}"\n' for number, public in self.members.items())


# ------------------------------------------------------------------------------------------------ numbers used once


def take_boot(vault: Vault, unix_us: int | None = None, above: int = 0) -> int:
    """A number for a new life of this node, above all earlier ones and `above`, durable before it is used.

    It follows the clock where that is ahead, so that a node whose vault was lost is not taken for its own past; and
    its last 16 bits are random, so that two copies of one vault hardly begin the same life.
    """
    stored = vault.load("boot")
    last = int.from_bytes(stored, "big") if stored is not None else 0
    now_us = time.time_ns() // 1000 if unix_us is None else unix_us
    coarse = max((max(last, above) >> _FINE_BITS) + 1, max(now_us, 0) >> _FINE_BITS)
    if coarse >= 1 << 48:
        raise InputError("the vault's boot number is used up: this identity cannot send any more")
    boot = coarse << _FINE_BITS | secrets.randbits(_FINE_BITS)
    vault.store("boot", boot.to_bytes(8, "big"))
    return boot


class Sequence:
    """A publisher's own numbers for its events, never the same twice. Reserved in blocks: a write for each 256."""

    def __init__(self, vault: Vault, block: int = SEQUENCE_BLOCK) -> None:
        self._vault = vault
        self._block = block
        stored = vault.load("sequence")
        self._reserved = int.from_bytes(stored, "big") if stored is not None else 0
        self._last = self._reserved

    def next(self) -> int:
        if self._last >= SEQUENCE_MAX:
            raise InputError("this identity has published all the events it can")
        if self._last >= self._reserved:
            self._reserved = min(self._last + self._block, SEQUENCE_MAX)
            self._vault.store("sequence", self._reserved.to_bytes(8, "big"))
        self._last += 1
        return self._last


# ------------------------------------------------------------------------------------------------------------ member


class Member:
    """All that a node must be to take part: number, identity, the group's keys, who may publish, and its vault."""

    def __init__(
        self,
        number: int,
        vault: Vault,
        identity: Identity | None,
        ring: KeyRing | None,
        roster: Roster | None,
        clocks_within_s: float | None = None,
    ) -> None:
        if not 0 <= number <= NODE_MAX:
            raise InputError(f"node number {number}: must be between 0 and {NODE_MAX}")
        self.number = number
        self.vault = vault
        self.identity = identity
        self.ring = ring
        self.roster = roster
        self.clocks_within_s = clocks_within_s
        self.sequence = Sequence(vault)

    @classmethod
    def secure(
        cls, vault: Vault, ring: KeyRing, roster: Roster | None = None, clocks_within_s: float | None = None
    ) -> Member:
        """`clocks_within_s`: all members' clocks are known to be right to so many seconds, and so may be relied on."""
        identity = Identity.of(vault)
        number = node_number(identity.public)
        if roster is not None:
            if identity.public not in roster.numbers:
                raise InputError(f"this node is not on the roster; its public key is {identity.public.hex()}")
            number = roster.numbers[identity.public]
        return cls(number, vault, identity, ring, roster, clocks_within_s)

    @classmethod
    def insecure(cls, number: int | None = None, vault: Vault | None = None) -> Member:
        """Nothing is encrypted, authenticated or signed. For experiments where nobody can do harm."""
        drawn = secrets.randbits(31) if number is None else number
        return cls(drawn, vault or MemoryVault(), None, None, None)

    def take_boot(self, above: int) -> int:
        return take_boot(self.vault, above=above)

    @property
    def circle(self) -> str:
        """Whose word this node takes: the group's, by its id, or anybody's."""
        return "insecure" if self.ring is None else self.ring.group.hex()
