"""A real Spark cluster on this machine: a master and two workers as processes of their own, one of which is killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
import pytest

from roamcast import lab
from roamcast.lab import conduct
from roamcast.lab.campaign import parse
from roamcast.lab.spark.engine import SparkEngine
from roamcast.lab.tables.folder import Folder
from roamcast.lab.traces import contacts, summary
from roamcast.lab.traces import trace as traces
from roamcast.lab.traces.here import Here
from tests.lab.test_resume import FORTY
from tests.support.interpreter import without
from tests.world.traces import samples
from tests.world.traces.samples import written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
PATIENCE_S = 240.0
FRAMED = FORTY.replace("[world]", 'level = "frames"\n[world]')


class Cluster:
    def __init__(self, place: Path) -> None:
        self.place = place
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"spark://127.0.0.1:{self.port}"

    def start(self, name: str, *words: str) -> None:
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        with (self.place / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [str(SPARK_CLASS), *words], env=environment, stdout=log, stderr=log, start_new_session=True
            )

    def wait_for(self, name: str, text: str) -> None:
        until = time.monotonic() + PATIENCE_S
        while text not in (self.place / f"{name}.log").read_text():
            assert time.monotonic() < until, (self.place / f"{name}.log").read_text()
            time.sleep(0.1)

    def kill(self, name: str) -> None:
        """With all its executors: they are in its session."""
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    try:
        master = "org.apache.spark.deploy.master.Master"
        made.start("master", master, "--host", "127.0.0.1", "--port", str(made.port), "--webui-port", "0")
        made.wait_for("master", "I have been elected leader")
        for name in ("first", "second"):
            worker = ("org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "1g", "--webui-port", "0")
            made.start(name, *worker, "--work-dir", str(tmp_path / name), made.url)
        for name in ("first", "second"):
            made.wait_for(name, "Successfully registered with master")
        yield made
    finally:
        for name in list(made.processes):
            made.kill(name)


def metrics(place: Path | str) -> list[dict[str, Any]]:
    """All except the run's name, which depends on how much of its log is kept."""
    rows = lab.open(place).rows("metrics")
    return [{name: value for name, value in row.items() if name != "run"} for row in rows]


def test_a_cluster_without_roamcast_that_loses_a_worker_gives_what_embedded_spark_gives(
    cluster: Cluster, spark: SparkSession, bucket: str, tmp_path: Path
) -> None:
    """From the logs that its workers wrote, it measures what the embedded runs counted themselves. Driver and workers
    share no folder: all goes through an object store.

    Nor do the driver's own helpers, which plan how a trace is read, need a roamcast of their own.
    """
    python = without(tmp_path, "roamcast")
    there = subprocess.run(
        [python, "-c", "import pyspark, pyarrow, roamcast"], capture_output=True, text=True, check=False
    )
    assert there.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'roamcast'"
    (tmp_path / "forty.toml").write_text(FRAMED)
    out = f"{bucket}/clustered"
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": str(python)}

    def typed(*words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "roamcast", *words, "--master", cluster.url]
        return subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    small = ("--conf", "spark.executor.memory=512m", "--conf", "spark.cores.max=2")
    running = typed("campaign", "forty.toml", "--out", out, *small)
    until = time.monotonic() + PATIENCE_S
    folder = Folder(out)
    while len(folder.finished()) < 5 and running.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    assert len(folder.finished()) < 40
    cluster.kill("first")
    _, errors = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, errors.decode()
    conduct.conduct([parse(FORTY)], Folder(tmp_path / "embedded"), SparkEngine(spark))
    clustered, embedded = (metrics(place) for place in (out, tmp_path / "embedded"))
    assert len(clustered) == 40
    for measured, counted in zip(clustered, embedded, strict=True):
        assert measured == {**counted, "energy_j": pytest.approx(counted["energy_j"], rel=1e-12)}
    assert {path.name for path in (tmp_path / "second").iterdir()}  # the application ran on the workers

    trace = written(tmp_path, "moves.csv", samples.CSV)
    asked = typed("trace", "stats", str(trace), "--range", "50", "--within", "5,10", "--json")
    output, errors = asked.communicate(timeout=PATIENCE_S)
    assert asked.returncode == 0, errors.decode()
    read = traces.read(Here(), [str(trace)])
    assert json.loads(output)["contacts"] == summary.of(read, contacts.of(read, 50.0), [5.0, 10.0])["contacts"]
    assert [row["reached"] for row in json.loads(output)["reachability"]["within"]] == [2, 2]
    read.close()
