"""A written trace is read back unchanged."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import InputError
from roamcast.world.traces.load import contacts, merged, movement
from roamcast.world.traces.write import TARGETS, Facts, Line, Place, get, stamp
from tests.world.traces.samples import part_of

METRES = st.floats(0.0, 2000.0, width=32)
Tracks = list[list[tuple[int, float, float]]]


@st.composite
def tracks(draw: st.DrawFn) -> Tracks:
    """Nodes that are present from the beginning to the end, which is the same for all."""
    inner = st.lists(st.integers(1, 5_999), max_size=4, unique=True).map(lambda k: sorted(10_000 * t for t in k))
    instants = [[0, *draw(inner), 60_000_000] for _ in range(draw(st.integers(1, 4)))]
    return [[(t, draw(METRES), draw(METRES)) for t in times] for times in instants]


def text_of(name: str, places: Iterable[Place], facts: Facts) -> str:
    out = StringIO()
    write = TARGETS[name].places
    assert write is not None
    ordered = sorted(places, key=lambda p: (p[0], p[1]) if TARGETS[name].by == "node" else (p[1], p[0]))
    write(out, ordered, facts)
    return out.getvalue()


def facts_of(trace: Tracks, names: list[str]) -> Facts:
    xs, ys = [x for track in trace for _, x, _ in track], [y for track in trace for _, _, y in track]
    bounds = {"west_m": min(xs), "east_m": max(xs), "south_m": min(ys), "north_m": max(ys)}
    return Facts(names=names, end_us=60_000_000, **bounds)


def legs(track: list[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """The track without points at which nothing changes: between two at the same place, and at the end."""
    kept = [
        p for k, p in enumerate(track) if not (0 < k < len(track) - 1 and track[k - 1][1:] == p[1:] == track[k + 1][1:])
    ]
    while len(kept) > 1 and kept[-1][1:] == kept[-2][1:]:
        kept.pop()
    return kept


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.kind == "positions"])
@settings(max_examples=40)
@given(trace=tracks())
def test_positions_come_back(name: str, trace: Tracks) -> None:
    facts = facts_of(trace, [f"car{k}" for k in range(len(trace))])
    places = [(node, t, x, y, 0) for node, track in enumerate(trace) for t, x, y in track]
    with TemporaryDirectory() as folder:
        path = Path(folder) / ("a.movements" if name == "bonnmotion" else "a.txt")
        path.write_text(text_of(name, places, facts))
        assert part_of(path).format == name
        try:
            back = movement(str(path))
        except InputError as error:  # very slow movements within 180 m of the origin look like degrees
            assert "degrees" in str(error)
            return
    assert back.names == ([str(k) for k in range(len(trace))] if name in ("ns2", "bonnmotion") else facts.names)
    assert [legs(track) for track in back.tracks] == [legs([(t / 1e6, x, y) for t, x, y in track]) for track in trace]
    assert back.absences == [[] for _ in trace]


def test_ns2_expresses_absences(tmp_path: Path) -> None:
    rows = [(2, 0.0, 0), (4, 8.0, 0), (6, 8.0, 1), (9, 2.0, 1), (10, 5.0, 2), (12, 6.0, 2)]
    places = [(0, t * 1_000_000, x, 0.0, segment) for t, x, segment in rows]
    places += [(1, 0, 100.0, 100.0, 0), (1, 20_000_000, 100.0, 100.0, 0)]
    path = tmp_path / "a.tcl"
    path.write_text(text_of("ns2", places, Facts(names=["0", "1"], end_us=20_000_000)))
    back = movement(str(path))
    assert back.absences == [[(0, 2_000_000), (4_000_000, 6_000_000), (9_000_000, 10_000_000), (12_000_000, -1)], []]
    assert back.tracks[0] == [(t, x, 0.0) for t, x, _ in rows]


def test_sumo_expresses_absences_at_both_ends(tmp_path: Path) -> None:
    places = [(0, t, float(t), 0.0, 0) for t in (2_000_000, 4_000_000)] + [(1, t, 9.0, 9.0, 0) for t in (0, 9_000_000)]
    path = tmp_path / "a.xml"
    path.write_text(text_of("sumo-fcd", places, Facts(names=['a "b" & c', "d"], end_us=9_000_000)))
    back = movement(str(path))
    assert back.names == ['a "b" & c', "d"]
    assert back.absences == [[(0, 2_000_000), (4_000_000, -1)], []]


def test_a_trace_that_ns2_cannot_express_is_refused() -> None:
    facts = Facts(names=["0"], end_us=10)
    with pytest.raises(InputError, match="moves at 2e\\+06 m/s"):
        text_of("ns2", [(0, 0, 0.0, 0.0, 0), (0, 10, 20.0, 0.0, 0)], facts)
    with pytest.raises(InputError, match="ns2 begins at 0 s"):
        text_of("ns2", [(0, -5, 0.0, 0.0, 0)], facts)


def test_negative_coordinates_move_to_zero_in_the_one(tmp_path: Path) -> None:
    places = [(0, 0, -50.0, 20.0, 0), (0, 10_000_000, 50.0, 30.0, 0)]
    facts = Facts(names=["0"], end_us=10_000_000, west_m=-50.0, east_m=50.0, south_m=20.0, north_m=30.0)
    path = tmp_path / "a.txt"
    path.write_text(text_of("one-movement", places, facts))
    assert movement(str(path)).tracks == [[(0.0, 0.0, 20.0), (10.0, 100.0, 30.0)]]


INTERVALS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), min_size=1, max_size=6)


@pytest.mark.parametrize("name", ["one-conn", "contact-list"])
@settings(max_examples=60)
@given(first=INTERVALS, second=INTERVALS, step=st.sampled_from([1, 500_000, 20_000_000]))
def test_contacts_come_back(name: str, first: list[tuple[int, int]], second: list[tuple[int, int]], step: int) -> None:
    pairs = {(0, 1): first, (1, 2): second}
    met = {pair: merged((a * step, (a + lasts) * step) for a, lasts in trace) for pair, trace in pairs.items()}
    begin = min(start for trace in met.values() for start, _ in trace)
    met = {pair: [(start - begin, end - begin) for start, end in trace] for pair, trace in met.items()}
    lines: list[Line] = []
    for (i, j), trace in met.items():
        for start, end in trace:
            lines += (
                [(start, i, j, True), (end, i, j, False)]
                if name == "one-conn"
                else [(t, i, j, True) for t in range(start + step, end + 1, step)]
            )
    lines.sort(key=lambda line: (line[0], not line[3], line[1]))
    out = StringIO()
    write = TARGETS[name].lines
    assert write is not None
    write(out, lines, Facts(names=["a", "b", "c"], end_us=0, resolution_us=step))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.txt"
        path.write_text(out.getvalue())
        names, back = contacts(str(path))
    assert names == ["a", "b", "c"]
    assert back == [(i, j, start, end) for (i, j), trace in met.items() for start, end in trace]


def test_names_of_several_words_become_numbers() -> None:
    assert Facts(names=["a b", "c"], end_us=0).labels() == ["0", "1"]
    assert Facts(names=["a,b", "c"], end_us=0).labels() == ["0", "1"]
    assert Facts(names=["a", "c"], end_us=0).labels() == ["a", "c"]


@pytest.mark.parametrize(
    ("t_us", "text"), [(0, "0"), (1, "0.000001"), (-1_500_000, "-1.5"), (20_000_000, "20"), (10**15, "1000000000")]
)
def test_instants_are_written_without_rounding(t_us: int, text: str) -> None:
    assert stamp(t_us) == text


def test_a_format_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(InputError, match="unknown format to write 'gpx'"):
        get("gpx")
