"""Files of traces: plain or gzipped text, in UTF-8, whole or in ranges of bytes.

A range has the lines that begin in it: it skips the end of a line that began before it, and reads its last line to the
end.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

from roamcast import storage
from roamcast.errors import InputError, error_text

HEAD_BYTES: Final = 1 << 16
CHUNK_BYTES: Final = 1 << 20
GZIP: Final = b"\x1f\x8b"
CUT: Final = "the file is cut off here"


def located(path: str) -> Path:
    """Where a file is on this machine. One that is named by a URL is brought here, once for each process."""
    return Path(path) if "://" not in path else storage.fetched(path)


def opened(path: str) -> BinaryIO:
    """The bytes of a file, unpacked if they are gzipped, whatever its name is."""
    try:
        file = located(path).open("rb")
        packed = file.read(2) == GZIP
        file.seek(0)
    except OSError as error:
        raise unreadable(path, error) from None
    if packed:
        return cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb"))
    if path.endswith(".gz"):
        file.close()
        raise InputError(f"{path}: cannot be read (not gzipped, though it is called .gz)")
    return file


def unreadable(path: str, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be read ({error_text(error)})")


def is_packed(path: str) -> bool:
    with located(path).open("rb") as file:
        return file.read(2) == GZIP


def head(path: str) -> str:
    """The first lines of a file. Refuses a file that is not text."""
    beginning = b""
    with opened(path) as file:
        try:
            while len(beginning) < HEAD_BYTES and (piece := file.read(1024)):
                beginning += piece
        except (EOFError, zlib.error, OSError):
            if not beginning:
                raise InputError(f"{path}: is not readable text (damaged)") from None
    text = beginning.decode("utf-8-sig", "replace")
    if "\0" in text or "�" in text[:-4]:
        raise InputError(f"{path}: cannot be read (not text in UTF-8)")
    return text


def lines(path: str, start: int = 0, end: int = -1, first_line: int = 1) -> Iterator[tuple[int, str]]:
    """(number, text) of each line that begins in [start, end); a file that ends too early gives a last (number, CUT).

    `first_line` is the number of the first line that begins at or after `start`.
    """
    number = first_line
    with opened(path) as file:
        if start:
            file.seek(start - 1)
            file.readline()
            if end >= 0 and file.tell() >= end:
                return
        try:
            if end < 0:
                for line in file:
                    yield number, _text(line, number)
                    number += 1
                return
            left = end - file.tell()
            while left > 0:  # in steps, because `tell` costs as much as reading a line
                batch = file.readlines(max(1, min(left, CHUNK_BYTES) - 1))
                if not batch:
                    return
                for line in batch:
                    if left <= 0:
                        return
                    left -= len(line)
                    yield number, _text(line, number)
                    number += 1
        except (EOFError, zlib.error, OSError):
            yield number, CUT


def _text(line: bytes, number: int) -> str:
    return line.decode("utf-8-sig" if number == 1 else "utf-8", "replace")


def ranges(path: str, size: int) -> list[tuple[int, int, int]]:
    """(start, end, number of the first line that begins there) of ranges of about `size` bytes each."""
    total = located(path).stat().st_size
    result: list[tuple[int, int, int]] = []
    line = 1
    with located(path).open("rb") as file:
        for start in range(0, total, size):
            end = min(start + size, total)
            result.append((start, end, line))
            line += _newlines(file, start - 1, end - 1) if start else 1 + _newlines(file, 0, end - 1)
    return result


def _newlines(file: BinaryIO, start: int, end: int) -> int:
    """Newlines in [start, end), which is the number of lines that begin in [start + 1, end + 1)."""
    file.seek(start)
    count = 0
    while start < end:
        chunk = file.read(min(CHUNK_BYTES, end - start))
        if not chunk:
            break
        count += chunk.count(b"\n")
        start += len(chunk)
    return count
