"""The group's keys, and the file that holds them.

Nodes that share a key are a group: any program with the key can read what the group's nodes send, and can send as one
of them. A group has several keys only while it changes from one to the next (`KeyRing`).
"""

from __future__ import annotations

import base64
import binascii
import secrets
import tomllib
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Self

from roamcast import files
from roamcast.errors import InputError, error_text

SECRET_BYTES: Final = 32
GROUP_BYTES: Final = 8


class GroupKey:
    """32 secret bytes. Its id tells receivers which key a datagram is under; it reveals nothing about the secret."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) != SECRET_BYTES:
            raise InputError(f"a group key has {SECRET_BYTES} bytes, not {len(secret)}")
        self.secret = secret
        self.id = int.from_bytes(blake2b(secret, digest_size=2, person=b"roamcast key id1").digest(), "big") or 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupKey) and secrets.compare_digest(self.secret, other.secret)

    def __hash__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"GroupKey({self.id:04x})"  # never the secret


class KeyRing:
    """The keys of a group, oldest first. A node accepts datagrams under all of them and sends under one.

    A rotation has three steps, and every node takes a step before any takes the next: `with_next` adds a key that is
    accepted but not used for sending yet, `promoted` uses it for sending, `retired` removes the older ones. `group`
    stays the same, because the signatures of events are valid in one group only.
    """

    def __init__(self, group: bytes, keys: tuple[GroupKey, ...], sending: int) -> None:
        if len(group) != GROUP_BYTES:
            raise InputError(f"a group's id has {GROUP_BYTES} bytes, not {len(group)}")
        self.group = group
        self.keys = keys
        self.by_id = {key.id: key for key in keys}
        if len(self.by_id) != len(keys):
            raise InputError("two keys of the group have the same id: replace one of them by a new key")
        if sending not in self.by_id:
            raise InputError(f"the group has no key {sending:04x} to send with")
        self.sending = self.by_id[sending]

    @classmethod
    def new(cls) -> Self:
        key = GroupKey(secrets.token_bytes(SECRET_BYTES))
        return cls(secrets.token_bytes(GROUP_BYTES), (key,), key.id)

    def with_next(self) -> KeyRing:
        key = GroupKey(secrets.token_bytes(SECRET_BYTES))
        while key.id in self.by_id:
            key = GroupKey(secrets.token_bytes(SECRET_BYTES))
        return KeyRing(self.group, (*self.keys, key), self.sending.id)

    def promoted(self) -> KeyRing:
        return KeyRing(self.group, self.keys, self.keys[-1].id)

    def retired(self) -> KeyRing:
        at = self.keys.index(self.sending)
        return KeyRing(self.group, self.keys[at:], self.sending.id)

    # ---- the file

    def text(self) -> str:
        keys = "".join(f'  "{base64.b64encode(key.secret).decode()}",  # {key.id:04x}\n' for key in self.keys)
        return (
            "# roamcast group keys. Whoever has this file can read and send in the group.\n"
            f'group = "{self.group.hex()}"\n'
            f'sending = "{self.sending.id:04x}"\n'
            f"keys = [\n{keys}]\n"
        )

    def save(self, path: str | Path, *, replace: bool = False) -> None:
        """Only the owner can read the file. Without `replace`, an existing file is an error."""
        try:
            files.write(Path(path), self.text().encode(), mode=files.PRIVATE, durable=True, overwrite=replace)
        except FileExistsError:
            raise InputError(f"{path} exists; a group key is not overwritten") from None
        except OSError as error:
            raise InputError(f"cannot write the key {path}: {error_text(error)}") from None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        try:
            mode = Path(path).stat().st_mode
            text = Path(path).read_text()
        except FileNotFoundError:
            raise InputError(f"there is no group key {path}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read the group key {path}: {error_text(error)}") from None
        if mode & 0o077:
            raise InputError(f"the group key {path} can be read by others: chmod 600 {path}")
        try:
            return cls.parse(text)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    @classmethod
    def parse(cls, text: str) -> Self:
        try:
            content: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"not a group key: {error}") from None
        group, sending, keys = (content.get(name) for name in ("group", "sending", "keys"))
        if not isinstance(group, str) or not isinstance(sending, str) or not isinstance(keys, list) or not keys:
            raise InputError('a group key file has group = "…", sending = "…" and keys = ["…"]')
        try:
            decoded = [GroupKey(base64.b64decode(key, validate=True)) for key in keys]
            return cls(bytes.fromhex(group), tuple(decoded), int(sending, 16))
        except (binascii.Error, TypeError, ValueError):
            raise InputError("group and sending are hexadecimal, keys are base64") from None
