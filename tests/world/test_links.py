"""Links from files: tables of measured links, lists of contacts, and the errors for other files."""

from __future__ import annotations

import gzip
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.world.contacts.neighbourhood import LinkObserver, Neighbourhood
from roamcast.world.links import contacts, neighbourhood, read_table
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from tests.support.data import data
from tests.support.reachability import reachability


def written(tmp_path: Path, text: str, name: str = "file.txt") -> str:
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def of_contacts(path: str, nodes: int = 5, **values: Any) -> Scenario:
    return Scenario(mobility="contacts", trace=path, nodes=nodes, **{"subscribers": 2, **values})


def of_table(path: str, nodes: int = 5) -> Scenario:
    return Scenario(radio="table", links=path, nodes=nodes, subscribers=2)


def hearers(n: Neighbourhood) -> list[list[int]]:
    return [[int(j) for j in row] for row in n.hearers]


# ---- tables


def test_rows_of_a_link_are_averaged_weighted_by_frames_sent(tmp_path: Path) -> None:
    path = written(tmp_path, "src,dst,pdr,tx_count,mean_rssi\n0,1,1.0,300,-60\n0,1,0.2,100,-80\n1,0,0.5,1,-70\n")
    table = read_table(path)
    assert table[0, 1] == (pytest.approx(0.8), pytest.approx(-65.0))
    assert table[1, 0] == (0.5, -70.0)


def test_columns_may_come_in_any_order_and_behind_a_line_of_json(tmp_path: Path) -> None:
    path = written(tmp_path, '{"node_count": 2}\ndatetime, dst ,pdr,src\nx,1,0.25,0\n')
    ((pair, (pdr, signal)),) = read_table(path).items()
    assert (pair, pdr) == ((0, 1), 0.25)
    assert isnan(signal)


def test_a_table_may_be_gzipped(tmp_path: Path) -> None:
    path = tmp_path / "links.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write("src,dst,pdr\n3,4,0.5\n")
    assert list(read_table(str(path))) == [(3, 4)]


def test_a_link_that_never_worked_does_not_exist(tmp_path: Path) -> None:
    path = written(tmp_path, "src,dst,pdr,tx_count\n0,1,0,100\n1,0,0.1,100\n2,0,0.9,0\n")
    assert list(read_table(path)) == [(1, 0)]


def test_links_go_one_way_and_no_node_hears_itself(tmp_path: Path) -> None:
    path = written(tmp_path, "src,dst,pdr\n0,2,1\n0,1,1\n2,0,1\n1,1,1\n")
    assert hearers(neighbourhood(of_table(path, 3))) == [[1, 2], [], [0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no link in it"),
        ("src,dst,pdr\n", "no link in it; it needs rows of src, dst and a pdr above 0"),
        ("src,dst,pdr\n0,1,0\n", "no link in it"),
        ("src,dst\n0,1\n", "row 1 needs src, dst and pdr as numbers"),
        ("src,dst,pdr\n0,1,0.5\n0,one,0.5\n", "row 2 needs src, dst and pdr as numbers"),
        ("src,dst,pdr\n0,1\n", "row 1 needs"),
        ("src,dst,pdr\n0,1,1.5\n", "row 1 has pdr=1.5, which must be between 0 and 1"),
        ("src,dst,pdr\n0,1,nan\n", "row 1 has pdr=nan"),
        ("src,dst,pdr\n-1,1,1\n", "row 1 has src=-1, which must not be negative"),
        ("src,dst,pdr\n1,-2,1\n", "row 1 has dst=-2"),
        ("src,dst,pdr,tx_count\n0,1,1,-5\n", "row 1 has tx_count=-5"),
        ("src,dst,pdr,tx_count\n0,1,1,inf\n", "row 1 has tx_count=inf, which must be between 0 and 1e+15"),
        ("src,dst,pdr,tx_count\n0,1,1,0\n", "no link in it"),
        ("src,dst,pdr,mean_rssi\n0,1,1,99999\n", "row 1 has mean_rssi=99999, which must be between -200 and 50"),
        ("src,dst,pdr,mean_rssi\n0,1,1,-90\n0,1,1,-inf\n", "row 2 has mean_rssi=-inf"),
    ],
)
def test_an_error_names_the_row_that_is_not_a_link(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=r"^links=") as error:
        read_table(path)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_for_a_table_with_more_nodes_than_the_scenario_the_error_gives_the_number_needed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nodes=5: .* so nodes must be at least 10"):
        neighbourhood(of_table(written(tmp_path, "src,dst,pdr\n0,9,1\n")))


@pytest.mark.parametrize("field", ["links", "trace"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, field: str) -> None:
    def read(path: Path) -> None:
        read_table(str(path)) if field == "links" else contacts(of_contacts(str(path)))

    binary, zipped = tmp_path / "x", tmp_path / "x.gz"
    binary.write_bytes(b"\xff\xfe\x00\x80")
    zipped.write_bytes(b"no gzip")
    cut = tmp_path / "cut.gz"
    content = b"src,dst,pdr\n" + b"0,1,1\n" * 50 if field == "links" else b"20 1 2\n" * 50
    cut.write_bytes(gzip.compress(content)[:-9])
    for path, message in (
        (tmp_path / "none", "no such file"),
        (tmp_path, "is a directory"),
        (binary, "not (readable )?text"),
        (zipped, "cannot be read"),
        (cut, "not readable text"),
    ):
        with pytest.raises(InputError, match=f"^{field}=.*{message}"):
            read(path)


# ---- contacts


def test_a_contact_lasts_from_a_step_before_its_first_line_to_its_last(tmp_path: Path) -> None:
    path = written(tmp_path, "20 1 2\n40 1 2\n100 2 3\n")
    n = contacts(of_contacts(path))
    assert hearers(n) == [[1], [0], [], [], []]  # the run begins 20 s before the first line
    seen = []
    for t in (39.9, 40.0, 79.9, 80.0, 99.9, 100.0):
        n.advance(t)
        seen.append(hearers(n)[:3])
    together = [[1], [0], []]
    apart: list[list[int]] = [[], [], []]
    others = [[], [2], [1]]
    assert seen == [together, apart, apart, others, others, apart]


def test_nodes_are_numbered_in_the_order_of_their_names(tmp_path: Path) -> None:
    n = contacts(of_contacts(written(tmp_path, "1 900 7\n2 900 30\n")))
    n.advance(1.5)
    assert hearers(n)[:3] == [[], [2], [1]]


def test_lines_may_be_repeated_and_name_the_nodes_in_either_order(tmp_path: Path) -> None:
    tidy = contacts(of_contacts(written(tmp_path, "20 1 2\n40 1 2\n60 2 3\n100 1 3\n", "a")))
    untidy = contacts(of_contacts(written(tmp_path, "20 1 2\n40 2 1\n# a word\n\n40 1 2\n60 2 3\n100 3 1\n", "b")))
    for t in range(0, 120, 5):
        tidy.advance(float(t))
        untidy.advance(float(t))
        assert hearers(tidy) == hearers(untidy)


def test_time_that_runs_backwards_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "20 1 2\n60 2 3\n40 1 2\n")
    with pytest.raises(InputError, match=r"line 3: time runs backwards: 40 s, after 60 s in line 2"):
        contacts(of_contacts(path))


def test_a_single_line_lasts_a_second(tmp_path: Path) -> None:
    n = contacts(of_contacts(written(tmp_path, "500 1 2\n")))
    assert hearers(n)[:2] == [[1], [0]]
    assert n.next == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no data"),
        ("# nothing\n\n", "has no data"),
        ("20 1 2\n40 1\n", "line 2: '40 1' is not `t i j`"),
        ("20 1 2\n\n# a word\nnoon 1 2\n", "line 4: 'noon 1 2' is not `t i j`"),
        ("20 1 1\n", "line 1: '20 1 1' is not `t i j` of two nodes"),
        ("nan 1 2\n20 1 2\n", "line 1: 'nan 1 2' is not"),
        ("inf 1 2\n20 1 2\n", "line 1: 'inf 1 2' is not"),
    ],
)
def test_an_error_names_the_line_that_is_not_a_contact(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=r"^trace=") as error:
        contacts(of_contacts(written(tmp_path, text)))
    assert message in str(error.value)


def test_a_list_with_more_nodes_than_the_scenario_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nodes=2: trace=.* has 3 nodes"):
        contacts(of_contacts(written(tmp_path, "1 1 2\n1 1 3\n"), nodes=2))


def test_an_event_waits_for_a_contact(tmp_path: Path) -> None:
    """Nodes 0 and 1 meet in the first 20 s, 1 and 2 from 80 to 100 s: periodic flooding carries an event across."""
    path = written(tmp_path, "20 0 1\n100 1 2\n120 1 2\n")
    scenario = of_contacts(path, nodes=3, subscribers=3, publishers=3, workload="topics", events=1, duration_s=150.0)
    seed = next(s for s in range(50) if simulate(scenario, "gossip", seed=s).metrics["possible"] == 2)
    assert simulate(scenario, "gossip", {"p": 1.0}, seed).metrics["deliveries"] == 1
    assert simulate(scenario, "flooding-periodic", {}, seed).metrics["deliveries"] == 2


class ContactRecorder(LinkObserver):
    """Records contacts as they begin and end, each once."""

    def __init__(self, n: Neighbourhood) -> None:
        self.since = {(i, j): 0.0 for i, row in enumerate(hearers(n)) for j in row if i < j}
        self.intervals: list[tuple[int, int, float, float]] = []
        n.observer = self

    def link(self, t: float, i: int, j: int, up: bool) -> None:
        if i < j and up:
            self.since[i, j] = t
        elif i < j:
            self.intervals.append((i, j, self.since.pop((i, j)), t))


def test_the_contacts_of_a_conference() -> None:
    path = str(data("hypertext2009/tij_HT09.dat"))
    n = contacts(of_contacts(path, nodes=113, duration_s=300_000.0))
    diary = ContactRecorder(n)
    n.advance(1e6)
    assert len(diary.intervals) == 9865 and not diary.since
    assert sum(end - t for _, _, t, end in diary.intervals) / 9865 == pytest.approx(42.2, abs=0.05)
    last = max(end for *_, end in diary.intervals)
    t0 = 20 + 0.1 * (last - 20)  # the first line is 20 s after the beginning
    assert reachability(diary.intervals, t0, 3600.0) == pytest.approx(0.2312, abs=5e-4)
