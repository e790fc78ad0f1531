"""Writing files that appear complete or not at all.

A file is written under a hidden temporary name in the folder of its target and renamed when it is complete. Its bytes
are on disk before the rename, so after a power failure there is the old file or the new one, complete. With `durable`
the rename is on disk as well when the call returns, so it is certainly the new file. That takes some milliseconds more;
only a caller that acts on the file at once needs it.

A folder is replaced in the same way, by one that was filled beside it.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PRIVATE: Final = 0o600
"""The mode of a file that only its owner may read."""
PRIVATE_FOLDER: Final = 0o700
FAILING: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})
"""The errors of a disk that is full or fails: they may end without anybody changing a setting."""

ANY: Final = 0o666
"""The mode of other files, minus the bits of the process's umask."""


def draft(target: Path, mode: int = ANY) -> Path:
    """A new, empty file beside the target. Its name begins with a dot, so listings and Spark ignore it."""
    path = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    return path


def finish(complete: Path, target: Path, *, durable: bool = False, overwrite: bool = True) -> None:
    """Give a complete draft its name. Without `overwrite`, raise FileExistsError if there is a file of that name."""
    _sync(complete)
    if overwrite:
        complete.replace(target)
    else:
        os.link(complete, target)  # fails if the target exists; a rename would replace it
        complete.unlink()
    if durable:
        _sync(target.parent)


@contextmanager
def completed(target: Path, *, mode: int = ANY, durable: bool = False, overwrite: bool = True) -> Iterator[Path]:
    """`with completed(target) as path:` write to `path`. An exception in the block leaves the target as it was."""
    path = draft(target, mode)
    try:
        yield path
        finish(path, target, durable=durable, overwrite=overwrite)
    finally:
        path.unlink(missing_ok=True)


def write(target: Path, content: bytes, *, mode: int = ANY, durable: bool = False, overwrite: bool = True) -> None:
    with completed(target, mode=mode, durable=durable, overwrite=overwrite) as path:
        path.write_bytes(content)


@contextmanager
def completed_folder(target: Path) -> Iterator[Path]:
    """`with completed_folder(target) as path:` fill the new folder `path`. An exception leaves the target as it was.

    A folder cannot be renamed over another one: for a moment there is none of that name.
    """
    fresh, old = (target.with_name(f".{target.name}.{state}") for state in ("new", "old"))
    for leftover in (fresh, old):
        shutil.rmtree(leftover, ignore_errors=True)
    fresh.mkdir()
    yield fresh
    if target.exists():
        target.replace(old)
    fresh.replace(target)
    shutil.rmtree(old, ignore_errors=True)


def _sync(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
