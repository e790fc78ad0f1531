"""`roamcast why`: what happened to an event at a node, in sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from tests.cli.conftest import OneLine, Typed

MINE = '''
from roamcast import EventFrame, Protocol, reason

KEPT = reason("suppress", "mine", "only I get {event}")

class Miser(Protocol):
    """Keeps everything."""

    frames = (EventFrame,)

    def on_publish(self, event):
        self.host.note(KEPT, event.id)
'''


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("why") / "run.parquet"
    world = Scenario(nodes=30, width_m=700, height_m=700, duration_s=20, publishers=2, subscribers=6)
    simulate(world, "gossip", {"p": 0.6}, 1, level="frames", log=path, possible=False)
    return path


def test_from_the_list_of_events_to_one_event_at_one_node(roamcast: Typed, log: Path) -> None:
    status, out, err = roamcast("why", str(log))
    assert (status, err) == (0, "")
    assert " (event, interested node) pairs were delivered. " in out
    command = out.splitlines()[-1]
    assert command.startswith(f"roamcast why {log} --event ")
    status, out, _ = roamcast(*command.split()[1:])
    assert status == 0 and out.startswith(f"Event {command.split()[-1]}, published by n")
    command = out.splitlines()[-1]
    status, out, _ = roamcast(*command.split()[1:])
    node = command.split()[-1]
    assert status == 0 and out.startswith(f"n{node} never received event ")
    assert "roamcast why" not in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_a_node_alone_has_the_list_of_its_events(roamcast: Typed, log: Path) -> None:
    status, out, _ = roamcast("why", str(log), "--node", "n7")
    assert status == 0 and out.startswith("n7 published ")


def test_json_is_one_object_with_everything(roamcast: Typed, log: Path) -> None:
    every = json.loads(roamcast("why", str(log), "--json")[1])["events"]
    assert every[0].keys() == {"event", "name", "t_us", "publisher", "content", "interested", "got"}
    name = every[0]["name"]
    nodes = json.loads(roamcast("why", str(log), "--event", name, "--json")[1])["nodes"]
    assert {entry["name"] for entry in nodes} == {name}
    node = str(nodes[0]["node"])
    listed = json.loads(roamcast("why", str(log), "--node", node, "--json")[1])["events"]
    assert name in [entry["name"] for entry in listed]
    one = json.loads(roamcast("why", str(log), "--node", node, "--event", name, "--json")[1])
    assert (one["status"], one["cause"]) == (nodes[0]["status"], nodes[0]["cause"])
    assert {"summary", "timeline", "neighbours", "path", "way", "latency_us", "network", "interest"} <= one.keys()


def test_a_protocol_of_ones_own_has_its_own_sentences(
    roamcast: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hoard.py").write_text(MINE)
    world = ["nodes=10", "duration_s=5", "publishers=1", "rate_hz=2"]
    words = [word for field in world for word in ("--world", field)]
    assert roamcast("run", "--protocol", "hoard:Miser", *words, "--log", "run.parquet")[0] == 0
    first = json.loads(roamcast("why", "run.parquet", "--json")[1])["events"][0]
    question = ["--event", first["name"], "--node", str(first["publisher"])]
    status, out, _ = roamcast("why", "run.parquet", *question, "--protocol", "hoard:Miser")
    assert status == 0 and f"suppress: only I get {first['name']}" in out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nowhere"], "there is no log nowhere"),
        (["there"], "there is not a log: it is not a Parquet file"),
        (["."], ". has no logs: no file in this folder is a log"),
        (["there", "--protocol", "gosip"], "unknown protocol 'gosip'; did you mean 'gossip'?"),
    ],
)
def test_what_is_no_log_is_one_line(one_line: OneLine, words: list[str], line: str) -> None:
    one_line(["why", *words], line)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--node", "99"], "node 99: the log LOG has no row about it; it has n0 to n29"),
        (["--node", "seven"], "node 'seven': must be a node's number, such as 7"),
        (["--node", "-1"], "node '-1': must be a node's number, such as 7"),
        (["--event", "first"], "event 'first': must be PUBLISHER:NUMBER, such as 3:12, or an event's id"),
        (["--event", "0:99"], "event 0:99: the log LOG has no row about it; n0 published no event in it"),
    ],
)
def test_what_the_log_does_not_have_is_one_line(one_line: OneLine, log: Path, words: list[str], line: str) -> None:
    one_line(["why", str(log), *words], line.replace("LOG", str(log)))


def test_a_log_with_too_little_detail_says_which_level_is_needed(
    roamcast: Typed, one_line: OneLine, tmp_path: Path
) -> None:
    for level in ("summary", "deliveries"):
        path = tmp_path / f"{level}.parquet"
        simulate(Scenario(nodes=10, duration_s=5), "gossip", {}, 1, level=level, log=path, possible=False)
    needed = "write it with --level frames or full (in a campaign file and in Python: level)"
    one_line(["why", "summary.parquet"], f"summary.parquet has no rows, because its level is summary: {needed}")
    assert " ".join(roamcast("why", "deliveries.parquet")[1].split()).count(f"To see more, {needed}.") == 1
