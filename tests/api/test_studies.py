"""Many runs from a program: the same worlds for all protocols, tables, paired differences, figures."""

from __future__ import annotations

from pathlib import Path
from statistics import mean
from typing import Any

import pytest

import roamcast as rc
from tests.api.test_simulation import Echo

SHORT = {"duration_s": 20.0, "nodes": 40}


class Broken(Echo):
    """Fails in its first frame."""

    def on_frame(self, frame: rc.Frame, sender: int) -> None:
        raise ValueError("out of luck")


@pytest.fixture(scope="module")
def compared() -> rc.Study:
    return rc.compare("baldoni", ["gossip", ("gossip", {"p": 0.4}), Echo], seeds=3, world=SHORT)


@pytest.fixture(scope="module")
def swept() -> rc.Study:
    return rc.sweep("baldoni", "gossip", {"p": [0.2, 1.0], "speed_max_mps": [10.0, 20.0]}, seeds=2, world=SHORT)


def test_every_protocol_runs_under_every_seed(compared: rc.Study) -> None:
    runs = [(row["label"], row["seed"]) for row in compared.rows]
    assert runs == [(label, seed) for label in ("gossip", "gossip, p=0.4", "Echo") for seed in (1, 2, 3)]


def test_runs_are_those_of_simulate(compared: rc.Study) -> None:
    alone = rc.simulate("baldoni", "gossip", {"p": 0.4}, seed=2, world=SHORT)
    (row,) = [row for row in compared.rows if (row["label"], row["seed"]) == ("gossip, p=0.4", 2)]
    assert (row["delivery"], row["overhead"], row["latency_p50_s"]) == (
        alone.delivery,
        alone.overhead,
        alone.latency_p50_s,
    )


def test_a_table_has_a_row_for_each_run_and_a_column_for_each_metric(compared: rc.Study) -> None:
    table = compared.pandas()
    assert list(table.columns[:3]) == ["label", "seed", "delivery"] and len(table) == 9
    assert list(table["delivery"]) == [row["delivery"] for row in compared.rows]


def test_means_have_intervals_around_them(compared: rc.Study) -> None:
    means = compared.means("delivery", "overhead")
    assert sorted(set(means["metric"])) == ["delivery", "overhead"] and len(means) == 6
    gossip = [row["delivery"] for row in compared.rows if row["label"] == "gossip"]
    (first,) = means[(means["label"] == "gossip") & (means["metric"] == "delivery")].to_dict("records")
    assert first["mean"] == pytest.approx(mean(gossip)) and first["low"] < first["mean"] < first["high"]


def test_differences_are_taken_seed_by_seed(compared: rc.Study) -> None:
    values = {(row["label"], row["seed"]): row["delivery"] for row in compared.rows}
    differences = {row["cell"]: row for row in compared.differences("delivery").to_dict("records")}
    assert set(differences) == {"gossip, p=0.4", "Echo"}
    for label, row in differences.items():
        expected = mean(values[label, seed] - values["gossip", seed] for seed in (1, 2, 3))
        assert row["difference"] == pytest.approx(expected) and row["n"] == 3


def test_another_one_may_be_what_all_are_compared_with(compared: rc.Study) -> None:
    assert {row["than"] for row in compared.compared("delivery", than="Echo")} == {"Echo"}
    with pytest.raises(rc.InputError, match="unknown label 'Ech'; did you mean 'Echo'"):
        compared.differences(than="Ech")


def test_protocols_may_have_labels_of_one_s_own() -> None:
    study = rc.compare("baldoni", {"mine": Echo, "rare": ("gossip", {"p": 0.1})}, seeds=[7], world=SHORT)
    assert [(row["label"], row["seed"]) for row in study.rows] == [("mine", 7), ("rare", 7)]


def test_a_world_with_lists_makes_a_grid_and_each_world_its_own_comparison() -> None:
    study = rc.compare("baldoni", ["gossip", "managed"], seeds=2, world={**SHORT, "nodes": [30, 40]})
    assert len(study.rows) == 8
    pairs = [(row["cell"], row["than"]) for row in study.compared()]
    assert len(pairs) == 2 and all("nodes" in cell and "nodes" in than for cell, than in pairs)
    assert all(cell.partition("nodes")[2] == than.partition("nodes")[2] for cell, than in pairs)


def test_results_do_not_depend_on_the_number_of_processes(compared: rc.Study) -> None:
    alone = rc.compare("baldoni", ["gossip"], seeds=3, world=SHORT, processes=1)
    same = [row for row in compared.rows if row["label"] == "gossip"]
    assert [(r["delivery"], r["overhead"]) for r in alone.rows] == [(r["delivery"], r["overhead"]) for r in same]


def test_a_sweep_runs_every_combination_of_parameters_and_fields(swept: rc.Study) -> None:
    table = swept.pandas()
    assert set(zip(table["p"], table["speed_max_mps"], strict=True)) == {(0.2, 10), (0.2, 20), (1.0, 10), (1.0, 20)}
    assert len(table) == 8
    by_p = table.groupby("p")["delivery"].mean()
    assert by_p[1.0] > by_p[0.2]


def test_a_figure_has_a_line_for_each_value_of_what_else_varies(swept: rc.Study) -> None:
    axes = swept.plot("p", "delivery")
    assert [series.name for series in swept.panel("p", "delivery").series] == ["speed_max_mps=10", "speed_max_mps=20"]
    assert axes.get_xlabel() and axes.get_ylabel() == "delivery"
    with pytest.raises(rc.InputError, match="unknown setting that varies 'q'"):
        swept.plot("q")
    with pytest.raises(rc.InputError, match="unknown metric 'delivry'; did you mean 'delivery'"):
        swept.plot("p", "delivry")


def test_values_may_be_any_sequence() -> None:
    np = pytest.importorskip("numpy")
    study = rc.sweep("baldoni", "gossip", {"p": np.array([0.2, 0.9]), "nodes": range(30, 50, 10)}, seeds=1, world=SHORT)
    assert len(study.rows) == 4


def test_several_protocols_may_be_swept_and_a_parameter_belongs_to_those_that_have_it() -> None:
    study = rc.sweep("baldoni", ["gossip", "proximity"], {"p": [0.2, 1.0]}, seeds=1, world=SHORT)
    assert [row["label"] for row in study.rows] == ["gossip", "gossip", "proximity"]


def test_a_study_shows_itself(compared: rc.Study) -> None:
    lines = repr(compared).splitlines()
    assert lines[0].startswith("baldoni, ") and lines[0].endswith("3 seeds")
    assert [line.split("  ")[0] for line in lines[2:5]] == ["gossip", "gossip, p=0.4", "Echo"]
    assert lines[5] == "delivery, difference seed by seed:"
    assert [line.split("  ")[0] for line in lines[7:]] == ["gossip, p=0.4 − gossip", "Echo − gossip"]
    html = compared._repr_html_()
    assert "difference seed by seed" in html and "Echo − gossip" in html
    assert "<table>" in html and "<svg" in html and "± " in html


def test_its_title_has_the_name_of_a_scenario_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('preset = "baldoni"\n[world]\nduration_s = 15\n')
    assert rc.compare(str(file), ["gossip"], seeds=1).title == "mine.toml, 1 seed"


def test_one_seed_has_no_interval_and_is_shown_all_the_same() -> None:
    study = rc.compare("baldoni", ["gossip", "managed"], seeds=1, world=SHORT)
    assert "±" not in repr(study).splitlines()[2]
    assert study.compared()[0]["pvalue"] is None


def test_a_folder_keeps_runs_and_tables_and_what_is_there_is_not_done_again(tmp_path: Path) -> None:
    out = tmp_path / "study"
    first = rc.sweep("baldoni", "gossip", {"p": [0.2, 1.0]}, seeds=2, world=SHORT, out=out)
    before = {path: path.stat().st_mtime_ns for path in (out / "done").iterdir()}
    again = rc.sweep("baldoni", "gossip", {"p": [0.2, 1.0]}, seeds=2, world=SHORT, out=out)
    after = {path: path.stat().st_mtime_ns for path in (out / "done").iterdir()}
    assert before == after and _values(first) == _values(again)
    assert _values(first) == _values(rc.sweep("baldoni", "gossip", {"p": [0.2, 1.0]}, seeds=2, world=SHORT))
    opened = rc.open(out)
    assert sorted(opened.pandas("metrics")["delivery"]) == sorted(row["delivery"] for row in first.rows)
    assert opened.arrow("runs").num_rows == 4


def _values(study: rc.Study) -> list[Any]:
    return sorted((row["p_p"], row["seed"], row["delivery"], row["overhead"]) for row in study.rows)


def test_a_folder_of_another_campaign_is_not_taken_over(tmp_path: Path) -> None:
    rc.sweep("baldoni", "gossip", {"p": [0.2]}, seeds=1, world=SHORT, out=tmp_path / "study")
    with pytest.raises(rc.InputError, match="holds the campaign 'sweep' from baldoni; choose another folder"):
        rc.compare("baldoni", ["gossip"], seeds=1, world=SHORT, out=tmp_path / "study")
    assert rc.open(tmp_path / "study").arrow("metrics").num_rows == 1
    assert "'sweep'" in repr(rc.open(tmp_path / "study"))


def test_a_field_that_is_called_like_a_parameter_can_be_swept_beside_it() -> None:
    study = rc.sweep("baldoni", ("semiprob", {"queue": 10}), {"world.queue": [5, 50]}, seeds=1, world=SHORT)
    assert [(row["p_queue"], row["w_queue"]) for row in study.rows] == [(10, 5), (10, 50)]
    assert list(study.pandas()["world.queue"]) == [5, 50]
    assert [name for name, *_ in study.table()[1]] == ["world.queue=5", "world.queue=50"]
    assert len(study.panel("world.queue", "overhead").series[0].points) == 2


def test_a_protocol_that_fails_is_named_with_its_seed() -> None:
    with pytest.raises(rc.RoamcastError, match=r"^Broken, seed [12]: ValueError: out of luck") as error:
        rc.compare("baldoni", [Broken], seeds=2, world=SHORT)
    assert "on_frame" in "".join(error.value.__notes__)


def test_progress_goes_up_to_one() -> None:
    shares: list[float] = []
    rc.compare("baldoni", ["gossip"], seeds=3, world=SHORT, progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("compare", "baldoni", "gossip"), "protocols: must be a list of them"),
        (("compare", "baldoni", []), "protocols: at least one is needed"),
        (("compare", "baldoni", [5]), "protocols: 5 must be a name, a class, or a pair"),
        (("compare", "baldoni", [int]), "protocol 'builtins:int': builtins:int is not a subclass of roamcast.Protocol"),
        (("sweep", "baldoni", ("gossip", "managed"), {"p": [1.0]}), "must be a name, a class, or a pair"),
        (("sweep", "baldoni", "gossip", ["p"]), "settings: must be a dictionary"),
        (("compare", "baldoni", ["gosip"]), "unknown protocol 'gosip'; did you mean 'gossip'?"),
        (("compare", "baldoni", ["gossip", "gossip"]), "gossip: the same experiment twice"),
        (("sweep", "baldoni", "gossip", {"q": [1]}), "unknown parameter or scenario field 'q'"),
        (("sweep", "baldoni", "gossip", {"nodez": [1]}), "unknown parameter or scenario field 'nodez'; did you mean"),
        (("sweep", "baldoni", "gossip", {"p": [0.5, 1.5]}), "p=1.5: must be a number between 0 and 1"),
        (("sweep", "baldoni", "gossip", {"p": []}), "p: must not be an empty list"),
    ],
)
def test_mistakes_are_one_line(arguments: tuple[Any, ...], line: str) -> None:
    verb, *rest = arguments
    with pytest.raises(rc.InputError) as error:
        getattr(rc, verb)(*rest, seeds=1)
    assert line in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("processes", [0, -1, "two"])
def test_a_wrong_number_of_processes_is_one_line(processes: Any) -> None:
    with pytest.raises(rc.InputError, match=r"^processes=.*: must be a whole number of at least 1$"):
        rc.compare("baldoni", ["gossip"], seeds=1, world=SHORT, processes=processes)


@pytest.mark.parametrize("seeds", [0, -1, True, "3", [1, 1], []])
def test_wrong_seeds_are_one_line(seeds: Any) -> None:
    with pytest.raises(rc.InputError, match=r"seed"):
        rc.compare("baldoni", ["gossip"], seeds=seeds, world=SHORT)
