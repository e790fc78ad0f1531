"""Where a campaign's objects are: a folder of this machine, or a place in an object store, by its URL.

    out/speed, file:///data/speed     a folder
    s3://bucket/speed, s3a://…        S3 and what speaks like it: keys, region and AWS_ENDPOINT_URL as everywhere; or in
                                      the URL, ?endpoint_override=http://host:9000&region=…
    gs://bucket/speed                 Google's
    hdfs://host:port/speed            Hadoop's; needs its libraries (libhdfs, CLASSPATH)

Object stores have no rename, no lock and no folders, so nobody asks for them: an object is put whole, read, listed by
the folder in its name, and deleted. The stores are pyarrow's (`pyarrow.fs`), which comes with the tables anyway. A
folder of this machine does without it, because a short campaign would wait for it to be loaded.

What a store cannot do now it may do later: that is `Interrupted`, and never the fault of a run.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit

from roamcast import files
from roamcast.errors import InputError, Interrupted, error_text

SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "hdfs": "hdfs", "viewfs": "hdfs"}
S3_OPTIONS = ("endpoint_override", "region", "scheme")
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
ATTEMPTS = 4
"""Of a request, before a store counts as out of reach."""
CONNECT_S, REQUEST_S = 5.0, 30.0
DRAFT = ".part"


class Entry(NamedTuple):
    """Of an object: how many bytes, and when it was put, by the clock of its store."""

    size: int
    at_s: float


class Storage(Protocol):
    """Objects by name. A name has at most one folder: `done/0-17.parquet`."""

    url: str
    """What workers need to find it."""
    path: Path | None
    """Where it is on this machine, if it is here."""

    def make(self) -> None:
        """Make the folder, where there are folders."""

    def read(self, name: str) -> bytes:
        """The whole object; FileNotFoundError if there is none."""

    def open(self, name: str) -> Any:
        """The object as a file that pyarrow can read parts of; FileNotFoundError if there is none."""

    def put(self, name: str, content: bytes) -> None:
        """Whole, or not at all."""

    def put_file(self, name: str, file: Path) -> None:
        """The same with the content of a file, which is gone afterwards."""

    def draft(self, name: str) -> Path:
        """A file to be written and given to `put_file`."""

    def names(self, folder: str) -> dict[str, Entry]:
        """The objects of a folder by their names in it."""

    def exists(self, name: str) -> bool: ...

    def delete(self, name: str) -> None:
        """If it is there."""

    def tidy(self, folder: str) -> None:
        """Remove drafts that a killed process left in a folder."""


def at(url: str | Path) -> Storage:
    """The storage at a path or URL; an InputError if its scheme is none of ours."""
    text = os.fspath(url)
    scheme, colon, rest = text.partition(":")
    if scheme == "file" and colon and not re.match("/(?!/)|///", rest):
        raise InputError(f"{text}: must be file:///PATH with the whole path, or a path without file:")
    if not colon or "/" in scheme or not (rest.startswith("/") or scheme in SCHEMES):
        return Local(Path(text).expanduser())
    if scheme == "file":
        return Local(Path("/" + rest.lstrip("/")))
    if scheme not in SCHEMES:
        raise InputError(f"{text}: {scheme}: is no storage that is known; use a path, file:, {_listed(SCHEMES)}")
    return Remote(text)


def is_url(text: str | Path) -> bool:
    return not isinstance(at(text), Local)


def _listed(schemes: Any) -> str:
    return ", ".join(f"{scheme}:" for scheme in dict.fromkeys(SCHEMES[each] for each in schemes))


@contextmanager
def _tried(what: str, storage: Storage, name: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(_joined(storage, name)) from error
    except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
        raise Interrupted(f"cannot {what} {_joined(storage, name)}: {why(error)}") from error


def why(error: Exception) -> str:
    """Arrow says more than people need about what the system or a store answered."""
    number = error.errno if isinstance(error, OSError) else None
    answered = re.search(r"AWS Error (\w+) during \w+ operation: (.*?)\.?(?: \(Request ID.*)?$", error_text(error))
    return os.strerror(number).lower() if number else " ".join(answered.groups()) if answered else error_text(error)


def _joined(storage: Storage, name: str) -> str:
    return f"{storage}/{name}" if name else str(storage)


# ---- a folder of this machine


class Local:
    def __init__(self, path: Path) -> None:
        self.path: Path | None = path
        self._root = path
        self.url = str(path.absolute())

    def __str__(self) -> str:
        return str(self._root)

    def __reduce__(self) -> tuple[Any, ...]:
        return Local, (self._root,)

    def make(self) -> None:
        self._root.mkdir(parents=True, exist_ok=True)

    def read(self, name: str) -> bytes:
        with _tried("read", self, name):
            return (self._root / name).read_bytes()

    def open(self, name: str) -> Any:
        import pyarrow as pa

        with _tried("read", self, name):
            return pa.OSFile(str(self._root / name))

    def put(self, name: str, content: bytes) -> None:
        with self._making(name) as target:
            files.write(target, content)

    def put_file(self, name: str, file: Path) -> None:
        with self._making(name) as target:
            files.finish(file, target)

    def draft(self, name: str) -> Path:
        with self._making(name) as target:
            return files.draft(target)

    @contextmanager
    def _making(self, name: str) -> Iterator[Path]:
        """Only the folder that the name itself has: if the root is gone, so is the disk that it was on."""
        target = self._root / name
        try:
            if target.parent != self._root:
                target.parent.mkdir(exist_ok=True)
            yield target
        except OSError as error:
            raise Interrupted(f"cannot write {target}: {why(error)}") from error

    def names(self, folder: str) -> dict[str, Entry]:
        listed: dict[str, Entry] = {}
        with _tried("list", self, folder):
            try:
                entries = [*os.scandir(self._root / folder)]
            except FileNotFoundError:
                return listed
            for entry in entries:
                if not entry.name.startswith("."):
                    try:
                        about = entry.stat()
                    except FileNotFoundError:  # deleted since
                        continue
                    listed[entry.name] = Entry(about.st_size, about.st_mtime)
        return listed

    def exists(self, name: str) -> bool:
        with _tried("read", self, name):
            return (self._root / name).exists()

    def delete(self, name: str) -> None:
        with _tried("delete", self, name):
            (self._root / name).unlink(missing_ok=True)

    def tidy(self, folder: str) -> None:
        with _tried("tidy", self, folder):
            for half in (self._root / folder).glob(f".*{DRAFT}"):
                half.unlink(missing_ok=True)


# ---- object stores


class Remote:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.path: Path | None = None
        self._scheme = SCHEMES[parts.scheme]
        self._host = parts.netloc
        self._root = (parts.netloc + parts.path if self._scheme != "hdfs" else parts.path).rstrip("/")
        self._options = self._understood(url, dict(parse_qsl(parts.query)))
        self._shown = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        if not parts.netloc or "@" in parts.netloc:
            raise InputError(f"{self._shown}: must be {parts.scheme}://BUCKET/NAME; keys belong in the environment")
        self.url = f"{self._shown}?{urlencode(self._options)}" if self._options else self._shown

    def _understood(self, url: str, options: dict[str, str]) -> dict[str, str]:
        known = S3_OPTIONS if self._scheme == "s3" else ()
        for option in options:
            if option not in known:
                raise InputError(f"{url}: unknown option {option!r}; known: {', '.join(known) or 'none'}")
        if self._scheme == "s3" and "endpoint_override" not in options:
            endpoint = next((os.environ[name] for name in ENDPOINTS if os.environ.get(name)), "")
            options = {"endpoint_override": endpoint, **options} if endpoint else options
        return options

    def __str__(self) -> str:
        return self._shown

    def __reduce__(self) -> tuple[Any, ...]:
        return Remote, (self.url,)

    @property
    def _store(self) -> Any:
        try:
            return _filesystem(self._scheme, self._host, tuple(self._options.items()), os.getpid())
        except (OSError, ValueError, ImportError) as error:
            raise InputError(f"{self}: cannot be reached: {why(error)}") from None

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"

    def make(self) -> None:
        """There are no folders to make."""

    def read(self, name: str) -> bytes:
        with self.open(name) as stream, _tried("read", self, name):
            content: bytes = stream.read()
            return content

    def open(self, name: str) -> Any:
        with _tried("read", self, name):
            return self._store.open_input_file(self._at(name))

    def put(self, name: str, content: bytes) -> None:
        try:
            if self._scheme == "hdfs" and not self.exists(name):
                self._put_by_move(name, content)
            else:
                self._write(self._at(name), content)
        except (OSError, ValueError) as error:
            raise Interrupted(f"cannot write {self}/{name}: {why(error)}") from error

    def _put_by_move(self, name: str, content: bytes) -> None:
        """Hadoop shows a file from its first byte on, and does not move one to a name that is taken."""
        folder, _, own = self._at(name).rpartition("/")
        draft = f"{folder}/.{own}.{uuid.uuid4().hex}{DRAFT}"
        self._write(draft, content)
        self._store.move(draft, self._at(name))

    def _write(self, path: str, content: bytes) -> None:
        with self._store.open_output_stream(path) as stream:
            stream.write(content)

    def put_file(self, name: str, file: Path) -> None:
        """Read before the store's stream is opened: one that is closed early would be an object of half the bytes."""
        with _tried("read", self, name):
            content = file.read_bytes()
        self.put(name, content)
        file.unlink(missing_ok=True)

    def draft(self, name: str) -> Path:
        return scratch() / name.replace("/", "-")

    def names(self, folder: str) -> dict[str, Entry]:
        from pyarrow.fs import FileSelector, FileType

        with _tried("list", self, folder):
            infos = self._store.get_file_info(FileSelector(self._at(folder), allow_not_found=True))
        objects = [info for info in infos if info.type == FileType.File and not info.base_name.startswith(".")]
        return {info.base_name: Entry(info.size, (info.mtime_ns or 0) / 1e9) for info in objects}

    def exists(self, name: str) -> bool:
        from pyarrow.fs import FileType

        with _tried("read", self, name):
            return bool(self._store.get_file_info(self._at(name)).type == FileType.File)

    def delete(self, name: str) -> None:
        try:
            with _tried("delete", self, name):
                self._store.delete_file(self._at(name))
        except FileNotFoundError:
            pass

    def tidy(self, folder: str) -> None:
        """An object that is not whole has no name, except in Hadoop's."""
        if self._scheme == "hdfs":
            from pyarrow.fs import FileSelector

            with _tried("tidy", self, folder):
                for info in self._store.get_file_info(FileSelector(self._at(folder), allow_not_found=True)):
                    if info.base_name.startswith(".") and info.base_name.endswith(DRAFT):
                        self._store.delete_file(info.path)


@cache
def _filesystem(scheme: str, host: str, options: tuple[tuple[str, str], ...], _process: int) -> Any:
    """One for each process: a forked one must not use the connections of its parent."""
    from pyarrow import fs

    if scheme == "gs":
        return fs.GcsFileSystem(retry_time_limit=timedelta(seconds=ATTEMPTS * REQUEST_S))
    if scheme == "hdfs":
        name, _, port = host.partition(":")
        return fs.HadoopFileSystem(name, int(port or 8020))
    retry = fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS)
    given = dict(options)
    if given.get("endpoint_override", "").startswith("http://"):
        given.setdefault("scheme", "http")
    return fs.S3FileSystem(**given, retry_strategy=retry, connect_timeout=CONNECT_S, request_timeout=REQUEST_S)


def objects(url: str) -> list[str]:
    """The object at a URL, or those that have it for a folder; an InputError if there is none."""
    whole, _, options = url.rstrip("/").partition("?")
    behind = f"?{options}" if options else ""
    place, _, name = whole.rpartition("/")
    if at(place + behind).exists(name):
        return [whole + behind]
    names = sorted(name for name in at(place + behind).names(name) if name[0] not in "._")
    if not names:
        raise InputError(f"{whole}: there is no such object")
    return [f"{whole}/{name}{behind}" for name in names]


@cache
def fetched(url: str) -> Path:
    """A copy of the object at a URL, on this machine for as long as this process lasts."""
    whole, _, options = url.partition("?")
    place, _, name = whole.rpartition("/")
    target = scratch() / f"{abs(hash(url)):x}-{name}"
    try:
        target.write_bytes(at(f"{place}?{options}" if options else place).read(name))
    except FileNotFoundError:
        raise InputError(f"{whole}: there is no such object") from None
    return target


def scratch() -> Path:
    """A folder of this process on this machine, for what is not whole yet; it is gone when the process ends."""
    return _scratch(os.getpid())


@cache
def _scratch(_process: int) -> Path:
    import atexit
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="roamcast-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
