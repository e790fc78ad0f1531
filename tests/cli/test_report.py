"""`roamcast report`: where the page goes, and what it says about wrong input."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Typed
from tests.show.made_up import campaign, folder


def test_the_page_lies_in_the_folder_or_where_it_is_wanted(roamcast: Typed, tmp_path: Path) -> None:
    made = folder(tmp_path / "r", campaign("speed", ["a"]))
    status, out, err = roamcast("report", str(made))
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == f"report: {made / 'report.html'}"
    assert (made / "report.html").read_text().startswith("<!DOCTYPE html>")
    elsewhere = tmp_path / "new" / "page.html"
    status, _, _ = roamcast("report", str(made), "--out", str(elsewhere))
    assert status == 0
    assert elsewhere.read_bytes() == (made / "report.html").read_bytes()


def test_what_is_no_folder_of_results_gets_one_line(roamcast: Typed, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        status, out, err = roamcast("report", str(place))
        assert (status, out) == (2, "")
        assert err.startswith(f"roamcast: {place}: has no table 'runs'") and err.count("\n") == 1


def test_a_place_that_cannot_be_written_gets_one_line(roamcast: Typed, tmp_path: Path) -> None:
    made = folder(tmp_path / "r", campaign("speed", ["a"]))
    (tmp_path / "file").write_text("")
    status, _, err = roamcast("report", str(made), "--out", str(tmp_path / "file" / "page.html"))
    assert status == 2
    assert err.startswith("roamcast: cannot write") and err.count("\n") == 1
