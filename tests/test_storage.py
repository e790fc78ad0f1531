"""Objects in a folder and in an object store: put whole, read, listed, deleted; and what cannot be reached is said."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from roamcast import storage
from roamcast.errors import InputError, Interrupted
from roamcast.storage import Storage


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "folder":
        made = storage.at(tmp_path / "out")
        made.make()
        return made
    return storage.at(f"{request.getfixturevalue('bucket')}/out")


def test_an_object_is_put_read_listed_and_deleted(place: Storage, tmp_path: Path) -> None:
    assert place.names("done") == {} and not place.exists("done/a")
    place.put("done/a", b"first")
    place.put("done/a", b"second")
    place.put("top.json", b"{}")
    draft = place.draft("done/b")
    draft.write_bytes(b"from a file")
    assert set(place.names("done")) == {"a"}  # a draft is no object
    place.put_file("done/b", draft)
    assert not draft.exists()
    assert {name: entry.size for name, entry in place.names("done").items()} == {"a": 6, "b": 11}
    assert (place.read("done/a"), place.read("top.json")) == (b"second", b"{}")
    with place.open("done/b") as stream:
        stream.seek(5)
        assert stream.read() == b"a file"
    place.delete("done/a")
    place.delete("done/a")
    assert set(place.names("done")) == {"b"} and place.exists("done/b")
    for look in (place.read, place.open):
        with pytest.raises(FileNotFoundError):
            look("done/a")


def test_a_worker_finds_the_same_place(place: Storage) -> None:
    place.put("done/a", b"x")
    assert storage.at(place.url).read("done/a") == pickle.loads(pickle.dumps(place)).read("done/a") == b"x"


def test_times_are_those_of_the_store(place: Storage) -> None:
    place.put("done/a", b"x")
    place.put("done/b", b"x")
    listed = place.names("done")
    assert 0 <= listed["b"].at_s - listed["a"].at_s < 60


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("s4://bucket/x", "s4://bucket/x: s4: is no storage that is known; use a path, file:, s3:, gs:, hdfs:"),
        ("http://host/x", "http://host/x: http: is no storage"),
        ("s3://key:secret@bucket/x", "s3://key:secret@bucket/x: must be s3://BUCKET/NAME; keys belong"),
        ("file:out/x", "file:out/x: must be file:///PATH with the whole path, or a path without file:"),
        ("file://out/x", "file://out/x: must be file:///PATH"),
        ("s3:", "s3://: must be s3://BUCKET/NAME"),
        ("s3:bucket/x", "s3://bucket/x: must be s3://BUCKET/NAME"),
        ("s3:///x", "s3:///x: must be s3://BUCKET/NAME"),
        ("s3://bucket/x?endpoint=y", "s3://bucket/x?endpoint=y: unknown option 'endpoint'; known: endpoint_override,"),
        ("gs://bucket/x?a=b", "gs://bucket/x?a=b: unknown option 'a'; known: none"),
    ],
)
def test_a_url_that_is_none_of_ours_is_one_line(url: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        storage.at(url)
    assert str(caught.value).startswith(line)


@pytest.mark.parametrize("text", ["out/x", "/data/x", "c:x", "file:///data/x", "file:/data/x"])
def test_paths_are_paths(text: str) -> None:
    path = storage.at(text).path
    assert path is not None and str(path) == (text if "file" not in text else "/data/x")
    assert not storage.is_url(text)


def test_an_endpoint_comes_from_the_environment_or_the_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://here:9")
    assert storage.at("s3a://b/x").url == "s3a://b/x?endpoint_override=http%3A%2F%2Fhere%3A9"
    assert storage.at("s3://b/x?endpoint_override=there").url == "s3://b/x?endpoint_override=there"
    assert str(storage.at("s3://b/x?endpoint_override=there")) == "s3://b/x"


def test_a_store_out_of_reach_is_no_fault_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "ATTEMPTS", 1)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    there = storage.at("s3://b/x?endpoint_override=http://127.0.0.1:1&region=us-east-1")
    with pytest.raises(Interrupted, match="cannot write s3://b/x/a: "):
        there.put("a", b"x")
    with pytest.raises(Interrupted, match="cannot read s3://b/x/a: "):
        there.read("a")


def test_what_a_store_answers_is_told_in_few_words(bucket: str) -> None:
    with pytest.raises(Interrupted) as caught:
        storage.at("s3://there-is-no-such-bucket/x").put("a", b"x")
    text = "cannot write s3://there-is-no-such-bucket/x/a: NO_SUCH_BUCKET The specified bucket does not exist"
    assert str(caught.value) == text


def test_a_folder_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    """It was on a disk that is not mounted any more: whatever were written now would not be seen there."""
    place = storage.at(tmp_path / "mounted")
    for put in (lambda: place.put("done/a", b"x"), lambda: place.draft("done/a")):
        with pytest.raises(Interrupted, match=f"cannot write {tmp_path}/mounted/done/a: no such file or directory"):
            put()
    assert os.listdir(tmp_path) == []  # noqa: PTH208


def test_a_file_at_a_url_is_brought_here_once(bucket: str) -> None:
    place = storage.at(f"{bucket}/traces")
    place.put("a.csv", b"first")
    place.put("b.csv", b"second")
    assert storage.objects(f"{bucket}/traces/a.csv") == [f"{bucket}/traces/a.csv"]
    assert storage.objects(f"{bucket}/traces/") == [f"{bucket}/traces/{name}" for name in ("a.csv", "b.csv")]
    assert storage.fetched(f"{bucket}/traces/a.csv").read_bytes() == b"first"
    place.delete("a.csv")
    assert storage.fetched(f"{bucket}/traces/a.csv").name.endswith("-a.csv")
    for look in (storage.objects, storage.fetched):
        with pytest.raises(InputError, match=f"{bucket}/traces/none: there is no such object"):
            look(f"{bucket}/traces/none")


def test_in_hadoops_store_nothing_has_its_name_before_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a file system of this machine in its place: it shows a file from its first byte on, too."""
    store = LocalFileSystem()
    monkeypatch.setattr(storage, "_filesystem", lambda *_: store)
    place = storage.at(f"hdfs://host{tmp_path}")
    (tmp_path / "done").mkdir()
    seen: list[list[str]] = []
    write = storage.Remote._write

    def watched(self: storage.Remote, path: str, content: bytes) -> None:
        write(self, path, content)
        seen.append([*place.names("done")])

    monkeypatch.setattr(storage.Remote, "_write", watched)
    place.put("done/a", b"x")
    place.put("done/a", b"y")  # is replaced where it is
    assert (seen, place.read("done/a")) == ([[], ["a"]], b"y")
    assert [path.name for path in (tmp_path / "done").iterdir()] == ["a"]
    (tmp_path / "done" / ".b.1.part").touch()  # of a process that was killed
    place.tidy("done")
    assert [path.name for path in (tmp_path / "done").iterdir()] == ["a"]
