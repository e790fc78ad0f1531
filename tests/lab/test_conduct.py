"""A campaign from its file to its tables, and all that can happen to it on the way."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

from roamcast import lab
from roamcast.errors import InputError, Interrupted, RoamcastError
from roamcast.judging.sequential import LEAST
from roamcast.lab import campaign, code, conduct, plan, progress
from roamcast.lab.campaign import parse
from roamcast.lab.engine import Engine
from roamcast.lab.local.engine import PoolEngine
from roamcast.lab.plan import Run
from roamcast.lab.progress import Watcher
from roamcast.lab.spark import engine as spark_engine
from roamcast.lab.spark.engine import SparkEngine
from roamcast.lab.spark.frames import struct
from roamcast.lab.tables import logs, schemas
from roamcast.lab.tables.columns import Chosen
from roamcast.lab.tables.folder import Folder
from roamcast.log import reader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TINY = """\
name = "tiny"
preset = "baldoni"
seeds = 2
level = "deliveries"
[world]
duration_s = 14.0
publish_from_s = 10.0
nodes = 30
[[protocol]]
name = "gossip"
set = { p = [0.4, 0.8] }
"""


class Witness(Watcher):
    def __init__(self) -> None:
        self.rounds: list[tuple[int, int]] = []
        self.stages: list[str] = []
        self.warnings: list[str] = []
        self.done = 0

    def stage(self, what: str) -> None:
        self.stages.append(what)

    def runs(self, total: int, done: int) -> None:
        self.rounds.append((total, done))

    def progress(self, done: int, cost_done_s: float, cost_left_s: float) -> None:
        assert cost_done_s >= 0
        self.done = done

    def warn(self, line: str) -> None:
        self.warnings.append(line)


@pytest.fixture(scope="module", params=["spark", "pool"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return PoolEngine(2) if request.param == "pool" else SparkEngine(request.getfixturevalue("spark"))


def conducted(text: str, path: Path, engine: Engine, **options: Any) -> Witness:
    witness = Witness()
    conduct.conduct([parse(text)], Folder(path), engine, witness, **options)
    return witness


def table(path: Path, name: str) -> list[dict[str, Any]]:
    return lab.open(path).rows(name)


def objects(path: Path) -> dict[str, int]:
    """All that is kept, with the time when it was written; without what is written for a while."""
    kept = [place for place in path.rglob("*.*") if place.is_file() and place.name not in (".lock", "tables.json")]
    return {str(place.relative_to(path)): place.stat().st_mtime_ns for place in kept if ".spark" not in place.parts}


def object_of(path: Path, run: str) -> Path:
    """The file with the log of a run."""
    return path / "log" / Folder(path).ended_runs.look().places()[run].log


@pytest.fixture(scope="module")
def done(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny") / "out"
    witness = conducted(TINY, path, engine)
    assert witness.rounds[0] == (4, 0)
    assert witness.done == 4
    assert witness.stages == ["summing up"]  # what the runs counted came with them
    return path


def test_every_run_is_in_every_table_once(done: Path, tmp_path: Path) -> None:
    runs, metrics, summary = (table(done, name) for name in ("runs", "metrics", "summary"))
    assert [(row["cell"], row["seed"], row["status"]) for row in runs] == [
        (cell, seed, "finished") for cell in (0, 1) for seed in (1, 2)
    ]
    assert [row["run"] for row in metrics] == [row["run"] for row in runs]
    for row in metrics:
        logs.take_out(Folder(done), row["run"], tmp_path / "one.parquet")
        in_log = reader.summary(tmp_path / "one.parquet")
        assert set(reader.read(tmp_path / "one.parquet")["run"].to_pylist()) == {row["run"]}
        assert (row["delivery"], row["receptions"], row["fingerprint"]) == (
            in_log["delivery"],
            in_log["receptions"],
            in_log["fingerprint"],
        )
        assert row["reasons"] == in_log["reasons"]
    means = {row["cell"]: row["mean"] for row in summary if row["metric"] == "delivery"}
    for cell in (0, 1):
        values = [row["delivery"] for row in metrics if row["cell"] == cell]
        assert means[cell] == pytest.approx(sum(values) / 2)
    assert all(row["wall_s"] > 0 and row["command"].startswith("roamcast run baldoni") for row in runs)


def test_tables_have_their_schemas_and_can_be_asked(done: Path, spark: SparkSession) -> None:
    opened = lab.open(done, spark)
    chosen = Chosen(parse(TINY).cells).kinds
    for name, schema in (("runs", schemas.runs), ("metrics", schemas.metrics), ("summary", schemas.summary)):
        written = spark.read.parquet(str(done / name))
        assert written.schema.simpleString() == struct(schema(chosen)).simpleString()
    columns, rows = opened.ask("select protocol, count(*) as n from metrics group by 1", 10)
    assert (columns, rows) == (["protocol", "n"], [["gossip", 4]])
    assert opened.log.where("kind = 'publish'").count() > 0
    published = opened.ask("select count(*) from log where kind = 'publish'", 10)[1]
    assert published == [[opened.log.where("kind = 'publish'").count()]]
    with pytest.raises(InputError, match=r"^query: .*delivry"):
        opened.ask("select delivry from metrics", 10)


def test_better_pairs_by_seed_in_the_same_world(done: Path, spark: SparkSession) -> None:
    opened = lab.open(done, spark)
    with pytest.raises(InputError, match="unknown label 'gosip'"):
        opened.better("delivery", "gossip", "gosip")
    with pytest.raises(InputError, match="unknown metric 'delivry'"):
        opened.better("delivry", "gossip", "gossip")
    rows = opened.better("delivery", "gossip", "gossip").collect()
    values = {(row["cell"], row["seed"]): row["delivery"] for row in table(done, "metrics")}
    for row in rows:
        pairs = [values[row.cell, seed] - values[row.other_cell, seed] for seed in (1, 2)]
        assert row.difference == pytest.approx(sum(pairs) / 2)
    assert {(row.cell, row.other_cell) for row in rows} == {(0, 1), (1, 0)}


def test_what_is_finished_is_not_done_again(done: Path, engine: Engine) -> None:
    before = objects(done)
    metrics = table(done, "metrics")
    witness = conducted(TINY, done, engine)
    assert witness.rounds == [(4, 4)]
    assert witness.stages == ["nothing to do"]
    assert objects(done) == before
    (done / "tables.json").unlink()
    assert conducted(TINY, done, engine).stages == ["reading what the runs counted", "summing up"]
    assert objects(done) == before
    assert table(done, "metrics") == metrics


def test_another_campaign_into_the_folder_is_refused_and_changes_nothing(done: Path, engine: Engine) -> None:
    with pytest.raises(InputError, match="holds the campaign 'tiny'"):
        conducted(TINY.replace("seeds = 2", "seeds = 3"), done, engine)
    assert len(table(done, "runs")) == 4


@pytest.mark.parametrize("kind", ["done", "log"])
def test_an_object_that_lost_its_end_is_put_aside_and_its_runs_done_again(
    kind: str, done: Path, engine: Engine, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(done, copy)
    before = table(copy, "metrics")
    victim = min((copy / kind).iterdir())
    victim.write_bytes(victim.read_bytes()[:-20])
    witness = conducted(TINY, copy, engine)
    assert len(witness.warnings) == 1
    assert f"{victim} is damaged" in witness.warnings[0]
    assert table(copy, "metrics") == before
    assert len(list((copy / "corrupt").iterdir())) == 1
    assert not victim.exists()
    assert conducted(TINY, copy, engine).rounds == [(4, 4)]


def test_what_runs_counted_is_damaged_and_they_are_done_again(tmp_path: Path) -> None:
    """In one column alone, which is read only when tallies are needed."""
    out, engine = tmp_path / "out", PoolEngine(1)
    conducted(TINY, out, engine)
    before = table(out, "metrics")
    victim = min((out / "done").iterdir())
    tally = pq.ParquetFile(victim).metadata.row_group(0).column(pq.read_schema(victim).get_field_index("tally"))
    content = bytearray(victim.read_bytes())
    content[(tally.dictionary_page_offset + tally.data_page_offset) // 2] ^= 0xFF
    victim.write_bytes(content)
    (out / "tables.json").unlink()
    (warning,) = conducted(TINY, out, engine).warnings
    assert f"{victim} is damaged: " in warning and "its runs are done again" in warning
    assert table(out, "metrics") == before
    assert conducted(TINY, out, engine).stages == ["nothing to do"]


def damage(log: Path, share: float) -> None:
    """Flip some bytes so far into a column's pages; the footer stays as it is."""
    column = pq.ParquetFile(log).metadata.row_group(0).column(1)
    content = bytearray(log.read_bytes())
    place = column.data_page_offset + round(share * column.total_compressed_size)
    content[place : place + 32] = bytes(byte ^ 0xFF for byte in content[place : place + 32])
    log.write_bytes(content)


def test_logs_with_damaged_pages_are_put_aside_and_their_runs_done_again(engine: Engine, tmp_path: Path) -> None:
    text = TINY.replace("deliveries", "frames")
    conducted(text, tmp_path / "out", engine)
    before = table(tmp_path / "out", "metrics")
    victims = sorted({object_of(tmp_path / "out", row["run"]) for row in before})[:2]
    for victim, share in zip(victims, (0.0, 0.5), strict=False):
        damage(victim, share)
    for measured in (tmp_path / "out" / "measured").iterdir():
        measured.unlink()
    (tmp_path / "out" / "tables.json").unlink()
    witness = conducted(text, tmp_path / "out", engine)
    assert witness.rounds[0] == (4, 4) and witness.rounds[1][1] < 4
    for log, line in zip(victims, sorted(witness.warnings), strict=True):
        assert f"{log} is damaged: " in line and "its runs are done again" in line
    assert table(tmp_path / "out", "metrics") == before
    assert len(list((tmp_path / "out" / "corrupt").iterdir())) == len(victims)


def test_logs_are_measured_once(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TINY.replace("deliveries", "frames")
    assert conducted(text, tmp_path / "out", engine).stages == ["measuring 4 of 4 logs", "summing up"]
    before = table(tmp_path / "out", "metrics")
    assert "measuring" not in str(conducted(text, tmp_path / "out", engine).stages)
    more = conducted(text.replace("seeds = 2", "seeds = 3"), tmp_path / "out", engine, extend=True)
    assert "measuring 2 of 6 logs" in more.stages
    assert [row for row in table(tmp_path / "out", "metrics") if row["seed"] < 3] == before
    monkeypatch.setattr(code, "measuring", lambda: "another program")
    assert "measuring 4 of 4 logs" in conducted(text, tmp_path / "out", engine, extend=True).stages


def test_pages_that_metrics_do_not_need_may_be_damaged(done: Path, engine: Engine) -> None:
    before = table(done, "metrics")
    damage(object_of(done, before[0]["run"]), 0.0)
    witness = conducted(TINY, done, engine)
    assert (witness.warnings, table(done, "metrics")) == ([], before)


def test_what_fails_without_a_damaged_log_is_not_hidden(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise PySparkException("no more disk")

    monkeypatch.setattr(spark_engine, "measured", fails)
    with pytest.raises(RoamcastError, match=r"^Spark gave up: no more disk$"):
        conducted(TINY.replace("deliveries", "frames"), tmp_path / "out", SparkEngine(spark))


POISON = """
import errno, os, signal
from pathlib import Path
from roamcast.protocols.kit.interface import Protocol

class Raises(Protocol):
    def on_start(self):
        raise ValueError("this one\\nis poisoned")

class Kills(Protocol):
    def on_start(self):
        os.kill(os.getpid(), signal.SIGKILL)

class Endless(Protocol):
    def on_start(self):
        while True:
            pass

class FullDisk(Protocol):
    def on_start(self):
        if not Path(__file__).with_name("room").exists():
            raise OSError(errno.ENOSPC, "No space left on device")

class KillsOnce(Protocol):
    def on_start(self):
        once = Path(__file__).with_name("once")
        if not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def poison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "poison.py").write_text(POISON)
    monkeypatch.delitem(sys.modules, "poison", raising=False)  # that of another test
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("poison")
def test_poisoned_runs_are_recorded_and_the_others_go_on(engine: Engine, tmp_path: Path) -> None:
    text = TINY.replace("[0.4, 0.8]", "0.4") + "".join(
        f'[[protocol]]\nname = "poison:{name}"\n' for name in ("Raises", "Kills", "KillsOnce")
    )
    witness = conducted(text, tmp_path / "out", engine)
    runs = {(row["protocol"], row["seed"]): row for row in table(tmp_path / "out", "runs")}
    assert [runs["gossip", seed]["status"] for seed in (1, 2)] == ["finished", "finished"]
    for seed in (1, 2):
        raised = runs["poison:Raises", seed]
        assert (raised["status"], raised["error"]) == ("failed", "ValueError: this one is poisoned")
        world = "--world duration_s=14.0 --world publish_from_s=10.0 --world nodes=30"
        assert raised["command"] == f"roamcast run baldoni --protocol poison:Raises {world} --seed {seed}"
        assert runs["poison:Kills", seed]["error"] == "WorkerDied: a worker process died during this run 2 times"
        assert runs["poison:KillsOnce", seed]["status"] == "finished"  # by the second worker that began it
    assert (tmp_path / "once").exists()
    assert len(table(tmp_path / "out", "metrics")) == 4
    assert witness.done == 8
    status = progress.status(Folder(tmp_path / "out"))
    assert (status.planned, status.finished, len(status.failed), status.measured) == (8, 4, 4, True)
    # they are not tried again unless it is asked for
    assert conducted(text, tmp_path / "out", engine).rounds == [(8, 8)]


@pytest.mark.usefixtures("poison")
def test_a_run_that_does_not_end_has_failed_after_its_limit(engine: Engine, tmp_path: Path) -> None:
    text = TINY.replace("[0.4, 0.8]", "0.4").replace("seeds = 2", "seeds = 1")
    text += '[[protocol]]\nname = "poison:Endless"\n'
    conducted(text, tmp_path / "out", engine, limit_s=3.0)
    finished, endless = table(tmp_path / "out", "runs")
    assert (finished["protocol"], finished["status"]) == ("gossip", "finished")
    assert endless["error"] == "TookTooLong: the run took longer than 3 s; --limit S allows more"
    assert endless["command"].startswith("roamcast run baldoni --protocol poison:Endless ")


@pytest.mark.usefixtures("poison")
def test_a_full_disk_stops_the_campaign_and_is_no_failure_of_a_run(engine: Engine, tmp_path: Path) -> None:
    text = TINY + '[[protocol]]\nname = "poison:FullDisk"\n'
    with pytest.raises(Interrupted, match=f"^cannot write to {tmp_path}/out: no space left on device"):
        conducted(text, tmp_path / "out", engine)
    folder = Folder(tmp_path / "out")
    assert folder.failures() == {} and len(folder.finished()) < 6
    (tmp_path / "room").touch()
    conducted(text, tmp_path / "out", engine)
    assert [row["status"] for row in table(tmp_path / "out", "runs")] == ["finished"] * 6


def test_workers_that_write_elsewhere_are_one_line(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a cluster without a shared disk: what the worker calls by that name is another folder."""
    facts = Folder.facts
    monkeypatch.setattr(Folder, "facts", lambda self: {**facts(self), "claim": "claims/of another folder"})
    if isinstance(engine, PoolEngine):
        engine = PoolEngine(2, "spawn")
    with pytest.raises(Interrupted, match="does not see the folder that this process writes to; --out must be the"):
        conducted(TINY, tmp_path / "out", engine)


@pytest.mark.usefixtures("poison")
def test_a_campaign_of_which_no_run_ends_well_has_empty_tables(engine: Engine, tmp_path: Path) -> None:
    text = TINY.partition("[[protocol]]")[0] + '[[protocol]]\nname = "poison:Raises"\n'
    conducted(text, tmp_path / "out", engine)
    assert [row["status"] for row in table(tmp_path / "out", "runs")] == ["failed", "failed"]
    assert (table(tmp_path / "out", "metrics"), table(tmp_path / "out", "summary")) == ([], [])


def test_campaigns_of_several_levels_share_a_folder_and_their_runs(engine: Engine, tmp_path: Path) -> None:
    """The same worlds, once by what the runs counted and twice (with Spark) by their logs."""
    campaigns = [
        parse(TINY.replace('"tiny"', f'"{name}"').replace("deliveries", level))
        for name, level in (("a", "summary"), ("b", "frames"), ("c", "frames"))
    ]
    conduct.conduct(campaigns, Folder(tmp_path / "out"), engine)
    metrics = table(tmp_path / "out", "metrics")
    by_campaign = {name: [row for row in metrics if row["campaign"] == name] for name in "abc"}
    for row, other, third in zip(*by_campaign.values(), strict=True):
        assert row["run"] != other["run"] == third["run"]
        for key in (*campaign.AVERAGED, "fingerprint", "reasons", "cell", "seed"):
            assert row[key] == other[key] == third[key], key
    assert len(metrics) == 12


@pytest.mark.usefixtures("poison")
def test_more_deaths_than_spark_bears_cost_no_other_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up_on = conduct._alone
    monkeypatch.setattr(plan, "partitions", lambda runs, _: [list(runs)])  # one after the other, killers first
    alone: list[Run] = []
    monkeypatch.setattr(conduct, "_alone", lambda run, *rest: alone.append(run) or given_up_on(run, *rest))
    bears = int(spark.sparkContext.master.rpartition(",")[2].rstrip("]"))
    text = TINY.replace("[0.4, 0.8]", "0.4").replace("seeds = 2", f"seeds = {bears // 2 + 1}")
    head, first, rest = text.partition("[[protocol]]")
    text = f'{head}[[protocol]]\nname = "poison:Kills"\n{first}{rest}'
    conducted(text, tmp_path / "out", SparkEngine(spark))
    assert {(row["protocol"], row["status"]) for row in table(tmp_path / "out", "runs")} == {
        ("poison:Kills", "failed"),
        ("gossip", "finished"),
    }
    assert {run.cell.protocol for run in alone} == {"poison:Kills"}


def test_cells_are_repeated_until_their_interval_is_tight_enough(engine: Engine, tmp_path: Path) -> None:
    text = TINY.replace("seeds = 2", 'seeds = 2\nuntil = { metric = "delivery", half_width = 0.12, max_seeds = 26 }')
    witness = conducted(text, tmp_path / "out", engine)
    for row in table(tmp_path / "out", "summary"):
        assert row["metric"] != "delivery" or row["half_width"] <= 0.12 or row["n"] == 26
        assert row["metric"] != "delivery" or row["n"] >= LEAST
    assert len(witness.rounds) > 1
    assert len(table(tmp_path / "out", "metrics")) == witness.rounds[-1][0]


def test_a_folder_without_a_campaign_gives_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no campaign has been run into this folder"):
        lab.open(tmp_path)
    with pytest.raises(InputError, match="no campaign has been run into this folder"):
        progress.status(Folder(tmp_path))


def test_the_campaign_on_disk_is_the_campaign(done: Path) -> None:
    assert json.loads((done / "campaign.json").read_text())[0]["name"] == "tiny"
    assert campaign.parse(TINY).cells[0].scenario.nodes == 30


def test_what_interrupts_a_run_alone_interrupts_the_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an engine gave up, the runs that were under way are tried alone, each looked up in one listing."""
    calls: list[int] = []
    listings: list[None] = []
    begun = Folder.begun

    class GivesUp(PoolEngine):
        def simulate(self, runs: Any, folder: Folder, limits: Any = None) -> Any:
            calls.append(len(runs))
            if len(runs) == 1:
                raise Interrupted("the store is out of reach")
            for run in runs:
                folder.begin(run.id)
            raise RoamcastError("gave up")

    def listed(folder: Folder) -> set[str]:
        listings.append(None)
        return begun(folder)

    monkeypatch.setattr(Folder, "begun", listed)
    with pytest.raises(Interrupted, match="out of reach"):
        conducted(TINY, tmp_path / "out", GivesUp(1))
    assert (calls, len(listings)) == ([4, 1], 1)
