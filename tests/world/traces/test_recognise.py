"""Which format a file is in: read right, or refused in one line that says what could be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.errors import InputError
from tests.world.traces.samples import meetings, part_of, points, written

TAXI = "1,2008-02-02 15:36:08,116.51172,39.92123\n1,2008-02-02 15:46:08,116.51135,39.93883\n"
CAB = "37.75134 -122.39488 0 1213084687\n37.75136 -122.39527 0 1213084659\n"


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("20 1 2\n40 1 3\n", "contact-list"),
        ("20\t1492\t1591\tMP\tMP\n40\t1492\t1591\tMP\tPC\n", "contact-list"),
        ("20,1,2\n40,1,3\n", "contact-list"),
        ("20 n1 n2 7\n40 n3 n2 1\n", "contact-list"),
        ("3 4 500 600 1\n1 2 121 300 1\n", "intervals"),
        ("1 8 121 121 1 0\n1 3 236 347 1 0\n9 3 70 90 2 5\n", "intervals"),
        ("n1 n8 121 130\nn3 n1 20 40.5\n", "intervals"),
        ("0,1.5,20\n", ""),
        ("0,ann,0,0\n5,bob,9,0\n", "csv"),
        ("".join(f"{t},1,{t % 7},{t % 5}\n" for t in range(50)), "csv"),
        ("0,1,0.5,1.5\n5,1,9.25,0.5\n0,2,3.5,0.25\n", "csv"),
        ("0 10 20 10 30 40\n0 10 20 10 30 40 50 60 70\n", "bonnmotion"),
        ("0 10 0 9 0 9\n1 2 3 4\n2 2 3 5\n", "one-movement"),
        ("1 CONN 2 3 up\n2 CONN 2 3 down\n", "one-conn"),
        ("start;stop;src;dst\n5;9;a;b\n", "intervals"),
        ("node1,node2,time\n1,2,5\n", "contact-list"),
        ("i,t,x,y\n1,5,0,0\n", "csv"),
    ],
)
def test_a_file_that_fits_one_format_is_in_that_format(tmp_path: Path, text: str, format: str) -> None:
    path = written(tmp_path, "a.txt", text)
    if format:
        assert part_of(path).format == format
    else:
        with pytest.raises(InputError, match="is in no known format"):
            part_of(path)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1 2 121 300\n", ["csv", "contact-list", "intervals"]),
        ("20 1 2 7\n40 3 2 1\n60 4 2 1\n", ["csv", "contact-list"]),
        ("1,2,121,300\n", ["csv", "contact-list", "intervals"]),
        ("3,2,121,300\n1,2,5,9\n", ["csv", "intervals"]),
        ("0 1 100 200\n0 2 300 400\n1 1 101 200\n", ["csv", "contact-list"]),
        ("1 8 121 131 1 0\n1 9 121 131 1 0\n", ["bonnmotion", "intervals"]),
    ],
)
def test_a_file_that_fits_several_formats_is_refused_with_all_of_them_named(
    tmp_path: Path, text: str, names: list[str]
) -> None:
    path = written(tmp_path, "a.txt", text)
    with pytest.raises(InputError) as error:
        part_of(path)
    line = str(error.value)
    assert line.startswith(f"{path}: could be ") and "\n" not in line
    assert [name for name in ("csv", "bonnmotion", "contact-list", "intervals") if f"{name} (" in line] == names
    assert part_of(path, format=names[-1]).format == names[-1]


@pytest.mark.parametrize("text", [TAXI, CAB])
def test_a_file_whose_columns_are_unknown_is_refused_with_the_option_that_names_them(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"is in no known format; .*or name its columns: --columns node,t,lat,lon$"):
        part_of(written(tmp_path, "a.txt", text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,node,t,x,y\n1,a,0,0,0\n", "titles id and node mean the same; name the columns"),
        ("device,timestamp,date,lat,lon\na,5,2024-01-01,47,8\n", "titles timestamp and date mean the same"),
        ("person_a,person_b,second\n1,2,40\n", "titles 'person_a,person_b,second' do not say enough"),
        ("1 2 40\n1 2 60\n1 3 80\n2 3 100\n", "could be t i j or i j t; say which: --columns t,i,j or --columns i,j,t"),
    ],
)
def test_titles_and_orders_that_leave_a_doubt_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        part_of(written(tmp_path, "a.txt", text))


def test_damaged_lines_do_not_hide_a_format(tmp_path: Path) -> None:
    text = "20 1 2\n??\n40 1 2\n#\n60 1\n80 3 1\n"
    assert part_of(written(tmp_path, "a.dat", text)).format == "contact-list"


# ---- columns that are named


def test_named_columns_are_read_whatever_the_file_looks_like(tmp_path: Path) -> None:
    taxi = points(written(tmp_path, "1.txt", TAXI), columns="node,t,lon,lat", origin="39.9,116.5")["1"]
    assert [t for t, _, _ in taxi] == [1201966568.0, 1201967168.0]
    assert taxi[0][1] == pytest.approx(1001, rel=0.01) and taxi[0][2] == pytest.approx(2357, rel=0.01)
    newest_last = "\n".join(reversed(CAB.splitlines()))
    cab = points(written(tmp_path, "cab.txt", newest_last), columns="lat,lon,-,t")
    assert [t for t, _, _ in cab["cab"]] == [1213084659.0, 1213084687.0]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ("i,j,start,end", "1 2 121 300\n"),
        ("start,end,i,j", "121;300;1;2\n"),
        ("i,-,j,start,duration", "1,?,2,121,179\n"),
        ("i,j,start,end", "from,to,begin,stop\n1,2,121,300\n"),
    ],
)
def test_intervals_in_any_order_of_columns(tmp_path: Path, columns: str, text: str) -> None:
    assert meetings(written(tmp_path, "a.txt", text), columns=columns) == [("1", "2", 121.0, 300.0)]


def test_a_contact_list_in_another_order_of_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "1 2 40\n1 2 60\n")
    assert meetings(path, columns="i,j,t") == [("1", "2", 20.0, 40.0), ("1", "2", 40.0, 60.0)]


@pytest.mark.parametrize(("unit", "factor"), [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)])
def test_times_have_a_unit(tmp_path: Path, unit: str, factor: float) -> None:
    met = written(tmp_path, "a.txt", "1 2 2000 4000\n")
    assert meetings(met, format="intervals", time_unit=unit) == [("1", "2", 2000 * factor, 4000 * factor)]
    listed = written(tmp_path, "b.txt", "2000 1 2\n4000 1 2\n")
    assert meetings(listed, time_unit=unit)[1] == ("1", "2", 2000 * factor, 4000 * factor)
    places = written(tmp_path, "c.csv", "t,node,x,y\n2000,a,1,2\n")
    assert points(places, time_unit=unit)["a"] == [(2000 * factor, 1.0, 2.0)]


def test_a_unit_is_not_applied_to_dates(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "t,node,x,y\n1970-01-01T00:00:02Z,a,1,2\n")
    assert points(path, time_unit="ms")["a"] == [(2.0, 1.0, 2.0)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "i,j,begin"}, r"columns=i,j,begin: 'begin' is not one of t, node, .*, or - for others"),
        ({"columns": "i,j,t,t"}, r"columns=i,j,t,t: 't' is there twice"),
        ({"columns": "i,j"}, r"columns=i,j: must have all of one of these: i,j,start,end \(intervals\); "),
        ({"columns": "t,i,j", "format": "csv"}, r"these are columns of contact-list, not of csv"),
        ({"time_unit": "days"}, r"time_unit=days: must be one of us, ms, s, min, h"),
    ],
)
def test_names_and_units_that_say_nothing_are_refused(tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        part_of(written(tmp_path, "a.txt", "1 2 3 4\n"), **options)


def test_a_unit_of_a_format_that_has_its_own_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "1 CONN a b up\n2 CONN a b down\n")
    with pytest.raises(InputError, match=r"time_unit=ms: .*a.txt is one-conn, which is always in seconds"):
        part_of(path, time_unit="ms")


def test_a_contact_that_ends_before_it_begins_is_malformed(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "1 2 5 4\n1 1 2 3\n1 2 4 4\n")
    assert meetings(path, format="intervals") == [("1", "2", 4.0, 4.0)]
