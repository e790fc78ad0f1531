"""`roamcast model distance`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from roamcast.cli.model import app
from roamcast.errors import InputError
from roamcast.papers.distance_model import alpha_beta_for_speed, curve


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["distance", *arguments])


def refusal(*arguments: str) -> str:
    result = run(*arguments)
    assert isinstance(result.exception, InputError)
    assert result.stdout == ""
    return str(result.exception)


def test_json_is_one_object_with_the_exact_curves() -> None:
    result = run("--A", "5", "--L", "2", "--speeds", "0.3,0.6", "--steps", "4", "--json")
    (line,) = result.stdout.splitlines()
    output = json.loads(line)
    assert (output["A"], output["L"], output["steps"], output["normalised"]) == (5, 2, 4, True)
    assert [c["speed"] for c in output["curves"]] == [0.3, 0.6]
    for c in output["curves"]:
        assert c["distance"] == pytest.approx(curve(5, 2, *alpha_beta_for_speed(c["speed"]), 4), abs=1e-6)


def test_as_printed_leaves_out_the_division_by_what_is_left() -> None:
    output = json.loads(run("--A", "5", "--L", "2", "--speeds", "0.5", "--steps", "9", "--as-printed", "--json").stdout)
    assert output["normalised"] is False
    assert output["curves"][0]["distance"] == pytest.approx(
        curve(5, 2, *alpha_beta_for_speed(0.5), 9, normalised=False), abs=1e-6
    )


def test_the_table_has_a_row_for_every_few_ticks_and_a_column_for_each_speed() -> None:
    lines = run("-A", "5", "-L", "2", "--speeds", "0.3,0.6", "--steps", "24").stdout.splitlines()
    assert lines[1].split() == ["k", "s=0.3", "s=0.6"]
    assert [int(line.split()[0]) for line in lines[2:]] == list(range(0, 25, 2))
    assert lines[2].split() == ["0", "2.00", "2.00"]


def test_measured_shows_distance_growing_after_the_contact() -> None:
    seen = json.loads(run("--A", "3", "--L", "1", "--steps", "1", "--measured", "--json").stdout)["measured"]
    assert seen["elapsed_s"] == [float(t) for t in range(61)]
    assert 150 < seen["distance_m"][0] < 180
    assert all(a < b for a, b in zip(seen["distance_m"][:20], seen["distance_m"][1:20], strict=False))
    text = run("--A", "3", "--L", "1", "--steps", "1", "--measured").stdout
    assert "measured: waypoint, 100 nodes, 1,000 m × 1,000 m, 10 to 20 m/s, range 150 m" in text


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_the_figure_is_drawn_the_same_each_time(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    files = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for file in files:
        result = run("--A", "5", "--L", "2", "--steps", "4", "--figure", str(file))
        assert result.exception is None
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert len(first) > 1000


def test_a_figure_needs_a_name_and_a_place_that_can_be_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert "must end with .svg" in refusal("--steps", "1", "--figure", str(tmp_path / "figure.doc"))
    assert "no such file" in refusal("--steps", "1", "--figure", str(tmp_path / "missing" / "figure.svg"))


def test_without_matplotlib_a_figure_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "matplotlib" in refusal("--steps", "1", "--figure", str(tmp_path / "figure.svg"))


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("--speeds", "0.1,fast"), "speeds=0.1,fast"),
        (("--speeds", "1.5"), "speed (1.5)"),
        (("--A", "5", "--L", "9"), "L (9)"),
    ],
)
def test_wrong_input_is_refused_by_name(arguments: tuple[str, ...], names: str) -> None:
    assert names in refusal(*arguments)


def test_any_alpha_and_beta_can_be_asked_for() -> None:
    (c,) = json.loads(run("--alpha", "0.9", "--beta", "0.5", "--steps", "3", "--json").stdout)["curves"]
    assert (c["alpha"], c["beta"]) == (0.9, 0.5)
    assert c["distance"] == pytest.approx(curve(20, 10, 0.9, 0.5, 3), abs=1e-6)


def test_alpha_without_beta_is_refused() -> None:
    assert "both" in refusal("--alpha", "0.9")
