"""Many small objects become few large ones, and no run is lost or read twice on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from roamcast import storage
from roamcast.errors import Interrupted, TookTooLong
from roamcast.lab.tables import logs, merging
from roamcast.lab.tables.ended import Ended
from roamcast.lab.tables.endings import DONE, LOG, Ending, Endings, fresh_name, put_endings
from roamcast.lab.tables.folder import Folder
from roamcast.log.schema import DELIVER
from roamcast.storage import Storage


@pytest.fixture
def place(tmp_path: Path) -> Storage:
    made = storage.at(tmp_path)
    made.make()
    return made


def run(endings: Endings, name: str, rows: int, fails: bool = False) -> None:
    sink = endings.sink(name, lambda _: None)
    for k in range(rows):
        sink.row(k, 1, DELIVER, 2, 3, 4, 5, 6, "why")
    sink.summarise(json.dumps({"counted": rows}))
    if fails:
        sink.abandon()
        endings.failed(name, {"error": "no"})
    else:
        sink.close()


def rows_of(place: Storage, name: str) -> list[int]:
    folder = Folder(str(place))
    return [
        t
        for part in logs.parts(folder, [name])
        for batch, _ in logs.batches(place, part)
        for t in batch["t"].to_pylist()
    ]


def test_merged_again_and_again_all_runs_are_there_once(place: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "AT_A_TIME", 4)
    monkeypatch.setattr(merging, "LOGS_AT_A_TIME", 4)
    ended = Ended(place)
    for k in range(40):
        endings = Endings(place)
        run(endings, f"r{k}", k % 3)
        if k % 5 == 0:
            run(endings, f"bad{k}", 3, fails=True)
        endings.flush()
        while merging.merge(place, ended.look()):
            pass
        assert len(place.names(DONE)) < 12 and len(place.names(LOG)) < 12
    assert ended.look().finished() == {f"r{k}" for k in range(40)}
    assert ended.failed() == {f"bad{k}" for k in range(0, 40, 5)}
    assert ended.tallies(ended.finished()) == {f"r{k}": {"counted": k % 3} for k in range(40)}
    assert all(rows_of(place, f"r{k}") == list(range(k % 3)) for k in range(40))
    assert set(place.names(LOG)) == ended.named()


def test_a_run_that_raised_leaves_no_rows(place: Storage) -> None:
    endings = Endings(place)
    run(endings, "before", 2)
    sink = endings.sink("raises", lambda _: None)
    sink._rows_per_batch = 1
    sink.row(7, 1, DELIVER, 2, 3, 4, 5, 6, "why")  # has been written by now
    sink.abandon()
    run(endings, "after", 3)
    endings.flush()
    (log,) = place.names(LOG)
    assert pq.read_table(str(place) + f"/{LOG}/{log}")["run"].to_pylist() == ["before"] * 2 + ["after"] * 3
    assert (rows_of(place, "before"), rows_of(place, "after")) == ([0, 1], [0, 1, 2])


@pytest.mark.parametrize("before", [0, 2])
def test_a_run_that_is_interrupted_while_its_rows_are_written_moves_no_others_rows(
    before: int, place: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a signal that comes between the write and the count of what was written."""
    endings = Endings(place)
    if before:
        run(endings, "before", before)
    write = pq.ParquetWriter.write_table

    def interrupted(*args: Any) -> None:
        write(*args)
        raise TookTooLong("now")

    with monkeypatch.context() as during, pytest.raises(TookTooLong):
        during.setattr(pq.ParquetWriter, "write_table", interrupted)
        run(endings, "slow", 3)
    endings.failed("slow", {"error": "no"})
    run(endings, "after", 3)
    endings.flush()
    assert rows_of(place, "after") == [0, 1, 2]
    assert not before or rows_of(place, "before") == [0, 1]
    kept = [pq.read_table(f"{place}/{LOG}/{log}")["run"].to_pylist() for log in place.names(LOG)]
    assert "slow" not in str(kept)


def test_rows_of_another_run_are_noticed_by_whoever_reads_them(place: Storage) -> None:
    endings = Endings(place)
    run(endings, "a", 2)
    run(endings, "b", 2)
    endings.flush()
    (log,) = place.names(LOG)
    wrong = logs.Part(log, [("b", 0, 1), ("a", 1, 1)])
    with pytest.raises(ValueError, match="other rows where those of run b should be"):
        next(logs.batches(place, wrong))
    assert (logs.damage(place, wrong) or ("", ""))[0] == f"{LOG}/{log}"


def test_a_run_that_was_done_twice_counts_once(place: Storage) -> None:
    for _ in range(2):
        endings = Endings(place)
        run(endings, "twice", 3)
        endings.flush()
    ended = Ended(place).look()
    assert (ended.finished(), rows_of(place, "twice")) == ({"twice"}, [0, 1, 2])
    merging.rewrite(place, ended, [*ended.objects], 1)
    assert len(place.names(DONE)) == 1 and Ended(place).look().finished() == {"twice"}
    merging.delete_orphans(place, Ended(place).look(), 0.0)
    assert len(place.names(LOG)) == 1 and rows_of(place, "twice") == [0, 1, 2]


def test_killed_before_the_parts_are_deleted_it_loses_nothing(place: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "AT_A_TIME", 2)
    monkeypatch.setattr(merging, "LOGS_AT_A_TIME", 2)
    for name in ("a", "b"):
        endings = Endings(place)
        run(endings, name, 2)
        endings.flush()

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as during, pytest.raises(KeyboardInterrupt):
        during.setattr(type(place), "delete", killed)
        merging.merge(place, Ended(place).look())
    assert len(place.names(LOG)) == 3
    assert (rows_of(place, "a"), rows_of(place, "b")) == ([0, 1], [0, 1])
    while merging.merge(place, Ended(place).look()):
        pass
    assert Ended(place).look().finished() == {"a", "b"} and rows_of(place, "b") == [0, 1]


def test_a_finished_run_has_its_log_and_all_of_it(place: Storage) -> None:
    endings = Endings(place)
    run(endings, "a", 2)
    endings.flush()
    (log,) = place.names(LOG)
    assert Ended(place).look().finished() == {"a"}
    place.put(f"{LOG}/{log}", place.read(f"{LOG}/{log}")[:-1])
    ended = Ended(place).look()
    assert ended.finished() == set() and f"{LOG}/{log}" in ended.damaged
    place.delete(f"{LOG}/{log}")
    assert Ended(place).look().finished() == set()


def test_what_failed_once_and_then_finished_has_finished(place: Storage) -> None:
    put_endings(place, [Ending("a", failure='{"error": "no"}'), Ending("b", failure='{"error": "no"}')])
    put_endings(place, [Ending("a", "{}")])
    ended = Ended(place).look()
    assert (ended.finished(), ended.failed(), set(ended.failures())) == ({"a"}, {"b"}, {"b"})
    assert ended.ended() == {"a", "b"}


def test_merging_logs_makes_no_failed_run_of_a_finished_one(place: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """One worker was given up and its run failed with the next; the rows of both are in objects whose logs merge."""
    endings = Endings(place)
    run(endings, "a", 2)
    put_endings(place, [Ending("twice", "{}")])
    endings.flush()
    ended = Ended(place).look()
    merging.rewrite(place, ended, [*ended.objects], 0)
    endings = Endings(place)
    run(endings, "b", 2)
    endings.failed("twice", {"error": "no"})
    endings.flush()
    failing = next(name for name, seen in ended.look().objects.items() if seen.failed)
    place.put(f"{DONE}/9{failing[1:]}", place.read(f"{DONE}/{failing}"))  # read after the other one
    place.delete(f"{DONE}/{failing}")
    monkeypatch.setattr(merging, "LOGS_AT_A_TIME", 2)
    assert merging.merge(place, ended.look())
    assert (ended.look().finished(), ended.failed()) == ({"a", "b", "twice"}, set())


def test_who_reads_while_others_merge_finds_the_runs_where_they_are_now(
    place: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "AT_A_TIME", 2)
    monkeypatch.setattr(merging, "LOGS_AT_A_TIME", 2)
    for k in range(2):
        endings = Endings(place)
        run(endings, f"r{k}", 3)
        run(endings, f"bad{k}", 3, fails=True)
        endings.flush()
    readers = [Ended(place).look() for _ in range(3)]
    (part,) = logs.parts(Folder(str(place)), ["r1"])
    while merging.merge(place, Ended(place).look()):
        pass
    assert not place.exists(f"{LOG}/{part.log}")
    assert readers[0].tallies(["r0", "r1"]) == {"r0": {"counted": 3}, "r1": {"counted": 3}}
    assert readers[1].failures().keys() == {"bad0", "bad1"}
    assert (readers[2].ending("r1") or Ending("")).tally == '{"counted": 3}'
    assert [t for batch, _ in logs.batches(place, part) for t in batch["t"].to_pylist()] == [0, 1, 2]
    assert logs.damage(place, part) is None
    for log in place.names(LOG):
        place.delete(f"{LOG}/{log}")  # by another campaign, which does the runs again
    assert logs.damage(place, part) is None


def test_who_lost_the_place_while_it_merged_deletes_nothing(place: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "AT_A_TIME", 2)
    monkeypatch.setattr(merging, "LOGS_AT_A_TIME", 2)
    for name in ("a", "b"):
        endings = Endings(place)
        run(endings, name, 2)
        endings.flush()
    before = {*place.names(DONE)}, {*place.names(LOG)}
    folder = Folder(str(place))
    with folder.held():
        place.delete(f"claims/{min(place.names('claims'))}")
        with pytest.raises(Interrupted, match="lost to another campaign"):
            merging.merge(place, Ended(place).look(), folder.check_held)
    assert before[0] <= {*place.names(DONE)} and before[1] <= {*place.names(LOG)}
    assert (rows_of(place, "a"), rows_of(place, "b")) == ([0, 1], [0, 1])


def test_without_locks_a_log_that_nobody_names_is_kept_for_a_while(place: Storage) -> None:
    """The process that had the place before may be about to name it."""
    place.path = None  # as of a store
    folder = Folder(str(place))
    folder.storage = folder.runs = place
    orphan = f"{LOG}/{fresh_name()}"
    place.put(orphan, b"rows")
    folder.tidy()
    assert place.exists(orphan)
