"""Where the rows of a trace are cannot be seen: every number and every file is the same to the byte."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import InputError
from roamcast.lab.traces import contacts, here, summary
from roamcast.lab.traces import trace as traces
from roamcast.lab.traces.convert import convert
from roamcast.lab.traces.here import Here
from roamcast.world.traces.plan import Options
from roamcast.world.traces.write import TARGETS
from tests.lab.traces.places import Scattering, in_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from roamcast.lab.traces.trace import Place

Text = tuple[str, str]
"""The name of a file, and what is in it."""
NODES = ("1", "2", "ann", "bob b", "car2", "car10")
numbers = st.integers(-4, 4).map(lambda k: k * 5.0) | st.floats(-40, 40, allow_nan=False).map(lambda x: round(x, 3))


@st.composite
def movements(draw: st.DrawFn) -> Text:
    """Lines of several nodes, of each in order of time, and some that are no lines at all."""
    lines = []
    for node in draw(st.lists(st.sampled_from(NODES), min_size=1, max_size=5, unique=True)):
        t = draw(st.integers(0, 3))
        for _ in range(draw(st.integers(1, 6))):
            lines.append((t, f"{t},{node},{draw(numbers)},{draw(numbers)}"))
            t += draw(st.integers(1, 6))
    text = [line for _, line in sorted(lines, key=lambda line: line[0])]
    for place in draw(st.lists(st.integers(0, len(text)), max_size=3)):
        text.insert(place, "no line")
    return "a.csv", "t,node,x,y\n" + "\n".join(text) + "\n"


@st.composite
def meetings(draw: st.DrawFn) -> Text:
    pairs = st.tuples(st.integers(1, 30), *[st.integers(0, 5)] * 2).filter(lambda row: row[1] != row[2])
    rows = sorted(draw(st.lists(pairs, min_size=1, max_size=30)))
    return "a.dat", "".join(f"{20 * t} {i} {j}\n" for t, i, j in rows)


def results(place: Place, folder: Path, text: Text, gap_s: float, split_bytes: int) -> dict[str, bytes]:
    """All that one can learn about a trace: its statistics, its times, and the file in every format."""
    name, content = text
    (folder / name).write_text(content)
    contents: dict[str, bytes] = {}
    try:
        options = Options(gap_s=gap_s, units="metres" if name.endswith("csv") else "")
        read = traces.read(place, [str(folder / name)], options, split_bytes=split_bytes)
    except InputError as error:
        return {"refused": str(error).encode()}
    met = contacts.of(read, 12.5 if read.kind == "positions" else 0.0)
    facts = [summary.of(read, met, [3.0, 60.0]), summary.times(met), read.malformed.first, read.names, read.absent]
    contents["facts"] = json.dumps(facts, allow_nan=False).encode()
    for to, target in TARGETS.items():
        if read.kind == "contacts" and target.kind == "positions":
            continue
        out = folder / to
        range_m = 12.5 if (read.kind, target.kind) == ("positions", "contacts") else 0.0
        try:
            done = convert(read, out, to, range_m)
        except InputError as error:
            contents[to] = str(error).encode()
            continue
        contents[to] = out.read_bytes() + json.dumps([done.rows, done.warnings]).encode()
        if done.names is not None:
            contents[done.names.name] = done.names.read_bytes()
    read.close()
    return contents


@given(movements() | meetings(), st.sampled_from([0.0, 3.0]), st.sampled_from([100, 1 << 25]), st.integers(0, 1000))
def test_rows_may_be_divided_in_any_way(text: Text, gap_s: float, split_bytes: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(here, "processes", lambda: 1)  # to read parts of some lines by processes would only take time
        whole = results(Here(), Path(folder), text, gap_s, split_bytes)
        assert results(Scattering(seed), Path(folder), text, gap_s, split_bytes) == whole


CASES: list[tuple[Text, float]] = [
    (("a.csv", "t,node,x,y\n" + "".join(f"{t},car{t * 7 % 6},{t * 3 % 41},{t * t % 23}\n" for t in range(60))), 0.0),
    (("a.csv", "".join(f"{t},{n},{(t * n) % 30},{t % 9}\nwhat\n" for t in range(0, 40, 3) for n in (1, 2, 3))), 2.0),
    (("a.dat", "".join(f"{20 * t} {t % 5} {t % 5 + 1 + t % 2}\n" for t in range(1, 80) if t % 7)), 0.0),
]


@pytest.mark.parametrize(("text", "gap_s"), CASES, ids=["moves", "absences", "contacts"])
def test_spark_gives_the_same_bytes(text: Text, gap_s: float, spark: SparkSession, tmp_path: Path) -> None:
    whole = results(Here(), tmp_path, text, gap_s, 400)
    assert len(whole) > 2
    assert results(in_spark(spark), tmp_path, text, gap_s, 400) == whole
