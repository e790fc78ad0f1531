"""Which node is which: an Ed25519 key, and the number that belongs to it.

Protocols know nodes by numbers of 31 bits; so do the log and the ids of events. A number is bound to a key in one of
two ways:

  - By default it is computed from the public key. Then numbers need not be assigned, and an event proves its publisher
    by itself. 31 bits are few: two of a thousand nodes share a number with a probability of 0.02 %, and both notice it
    (`identity conflict`). A member of the group that tries two thousand million keys can make one for any number it
    likes. Against this, the first key that was received for a number counts for as long as it is remembered.
  - A roster, a file that lists numbers and public keys, binds them permanently. Numbers can then be small, which saves
    bytes on the air, and a member that is not listed cannot publish.

A number proves which node *published* an event. It does not prove which node *sent* a frame, only that the sender has
the group's key: frames are not signed. A node signs its position instead, from time to time, so that frames in its name
cannot silence it (trust/positions.py, docs/explanation/security.md).
"""

from __future__ import annotations

import secrets
import tomllib
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from roamcast.errors import InputError
from roamcast.net.durable import DurableValues

NODE_MAX: Final = (1 << 31) - 1
"""The highest number of a node."""
PUBLIC_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64


def node_number(public: bytes) -> int:
    """The number that follows from a public key."""
    digest = blake2b(public, digest_size=4, person=b"roamcast number1").digest()
    return int.from_bytes(digest, "big") & NODE_MAX


class Identity:
    """A node's own key. It signs, and never leaves the node."""

    def __init__(self, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = self._key.public_key().public_bytes_raw()

    @classmethod
    def of(cls, durable: DurableValues) -> Identity:
        """The stored identity; at the first start, a new one, which is stored."""
        seed = durable.load("identity")
        if seed is None:
            seed = secrets.token_bytes(32)
            durable.store("identity", seed)
        if len(seed) != 32:
            raise InputError(f"the stored identity has {len(seed)} bytes, not 32")
        return cls(seed)

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)


class Roster:
    """Numbers and public keys of the nodes that may publish."""

    def __init__(self, members: Mapping[int, bytes]) -> None:
        self.members = dict(members)
        for number, public in self.members.items():
            if not 0 <= number <= NODE_MAX:
                raise InputError(f"roster: {number} is not a node number (0 to {NODE_MAX})")
            if len(public) != PUBLIC_BYTES:
                raise InputError(f"roster: the key of {number} has {len(public)} bytes, not {PUBLIC_BYTES}")
        self.numbers = {public: number for number, public in self.members.items()}
        if len(self.numbers) != len(self.members):
            raise InputError("roster: two numbers have the same key")

    @classmethod
    def load(cls, path: str | Path) -> Roster:
        """A TOML file: `[members]`, and for each node a line `7 = "public key in hexadecimal"`."""
        try:
            content: dict[str, Any] = tomllib.loads(Path(path).read_text())
            members = content["members"]
            return cls({int(number): bytes.fromhex(public) for number, public in members.items()})
        except FileNotFoundError:
            raise InputError(f"there is no roster {path}") from None
        except (OSError, KeyError, TypeError, ValueError, AttributeError):
            raise InputError(f'{path} is not a roster: it needs [members] with lines like 7 = "public key"') from None

    def text(self) -> str:
        return "[members]\n" + "".join(f'{number} = "{public.hex()}"\n' for number, public in self.members.items())
