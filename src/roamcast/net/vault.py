"""The few bytes that must survive a restart: identity, the last boot, numbers already used, what was heard last.

A value is durable once `store` has returned, and whoever is killed in the middle of it finds the old value or the new
one. Names are those of this package ("identity", "boot", "sequence", "heard"); values are at most some kilobytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from roamcast import files
from roamcast.errors import InputError, error_text


class Vault(ABC):
    @abstractmethod
    def load(self, name: str) -> bytes | None:
        """What was stored last under this name; None if nothing ever was."""

    @abstractmethod
    def store(self, name: str, value: bytes) -> None:
        """Durable when it returns; the old value stays whole until then."""


class MemoryVault(Vault):
    """Forgets everything with the process: for tests, and for nodes that are somebody new each time."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def load(self, name: str) -> bytes | None:
        return self.values.get(name)

    def store(self, name: str, value: bytes) -> None:
        self.values[name] = value


class FileVault(Vault):
    """A folder with a file for each name, readable by its owner alone."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot keep state in {folder}: {error_text(error)}") from None

    def load(self, name: str) -> bytes | None:
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def store(self, name: str, value: bytes) -> None:
        files.write(self._folder / name, value, mode=files.PRIVATE, durable=True)
