"""A trace in this process: parts by several processes, and what is too large is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.errors import Outgrown
from roamcast.lab.traces import contacts, here
from roamcast.lab.traces import trace as traces
from roamcast.lab.traces.here import Here, fits, free_memory
from roamcast.world.traces.plan import Options, plan
from tests.lab.traces.places import rows_of
from tests.world.traces import samples
from tests.world.traces.samples import written


def test_processes_that_read_parts_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "t,node,x,y\n" + "".join(f"{t},car{t % 5},{t % 7 * 9.5},{'?' if t == 130 else t % 3}\n" for t in range(300))
    path = str(written(tmp_path, "a.csv", text))
    whole = traces.read(Here(), [path])
    monkeypatch.setattr(here, "processes", lambda: 3)
    parts = traces.read(Here(), [path], split_bytes=700)
    assert len(plan([path], Options(), 700)) > 3
    assert parts.rows.columns()["t_us"].tolist() == whole.rows.columns()["t_us"].tolist()
    assert (parts.names, parts.malformed) == (whole.names, whole.malformed)
    assert rows_of(contacts.of(parts, 10.0)) == rows_of(contacts.of(whole, 10.0)) != []


def test_floods_by_several_processes_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from roamcast.lab.traces import statistics

    read = traces.read(Here(), [str(samples.contacts(tmp_path)["one-conn"])])
    met = contacts.of(read)
    nodes, within = list(read.names), [10_000_000, 90_000_000]
    alone = rows_of(statistics.reached(met, nodes, 0, within))
    monkeypatch.setattr(here, "ITEMS_AT_ONCE", 1)
    monkeypatch.setattr(here, "processes", lambda: 3)
    assert rows_of(statistics.reached(met, nodes, 0, within)) == alone != []


def test_a_table_that_is_too_large_is_refused_when_it_grows(tmp_path: Path) -> None:
    path = str(samples.positions(tmp_path)["csv"])
    with pytest.raises(Outgrown, match=r"^a table of the trace is larger than 0.0 GB$"):
        traces.read(Here(100), [path])
    read = traces.read(Here(1200), [path])
    with pytest.raises(Outgrown):
        contacts.of(read, 1000.0)


def test_how_large_a_trace_may_be_depends_on_the_memory_that_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert free_memory() > 10_000_000
    monkeypatch.setattr(here, "free_memory", lambda: 2 * here.MEMORY_OF_A_BYTE * 1000)
    for name, size, small in (("a.csv", 1000, True), ("b.csv", 1001, False)):
        path = written(tmp_path, name, samples.CSV.ljust(size, "\n"))
        assert fits(plan([str(path)], Options())) is small
    assert not fits(plan([str(tmp_path)], Options()))
    packed = written(tmp_path, "c.csv.gz", samples.CSV)
    enough = 2 * here.MEMORY_OF_A_BYTE * here.UNPACKED * packed.stat().st_size
    for memory in (enough, enough - 2):
        monkeypatch.setattr(here, "free_memory", lambda memory=memory: memory)
        assert fits(plan([str(packed)], Options())) is (memory == enough)
