"""One run from a program: what it starts from, what it gives, and how it shows itself."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import roamcast as rc
from roamcast.papers import presets
from roamcast.world import simulate as runs

SHORT = {"duration_s": 20.0}


@dataclass(frozen=True)
class EchoParams(rc.Params):
    delay_ms: float = rc.param(5.0, "before an event goes on", "ours", unit="ms", low=0)


class Echo(rc.Protocol):
    """Every node sends on what it hears, once."""

    params_class = EchoParams
    frames = (rc.EventFrame,)

    def __init__(self, host: rc.Host, params: EchoParams) -> None:
        super().__init__(host, params)
        self.params = params
        self.waiting: dict[int, rc.EventFrame] = {}
        self.filters: list[rc.Filter] = []

    def on_subscribe(self, subscription: int, filter: rc.Filter) -> None:
        self.filters.append(filter)

    def on_publish(self, event: rc.Event) -> None:
        self.host.mute(event.id)
        self.host.broadcast(rc.EventFrame(event, 0, 0))

    def on_frame(self, frame: rc.Frame, sender: int) -> None:
        assert isinstance(frame, rc.EventFrame)
        self.host.mute(frame.id)
        if any(filter.matches(frame.event) for filter in self.filters):
            self.host.deliver(frame.event)
        self.waiting[frame.id] = frame
        self.host.set_timer(frame.id, int(self.host.random() * self.params.delay_ms * 1000))

    def on_timer(self, key: int) -> None:
        self.host.broadcast(self.waiting.pop(key))


def test_a_preset_runs_as_the_command_line_runs_it() -> None:
    r = rc.simulate("baldoni", "gossip", {"p": 0.5}, seed=2, world=SHORT)
    words = [
        "run",
        "baldoni",
        "--protocol",
        "gossip",
        "--set",
        "p=0.5",
        "--seed",
        "2",
        "--json",
        "--world",
        "duration_s=20",
    ]
    done = subprocess.run([sys.executable, "-m", "roamcast", *words], capture_output=True, text=True, check=True)
    typed = json.loads(done.stdout)
    assert r.fingerprint == typed["fingerprint"]
    assert r.delivery == r.metrics["delivery"] == typed["delivery"]


def test_the_paper_s_parameters_hold_unless_others_are_given() -> None:
    paper = presets.load("baldoni").params["proximity"]
    assert paper, "the preset sets some"
    r = rc.simulate("baldoni", world=SHORT)
    assert r.protocol == "proximity"
    assert {name: r.params[name] for name in paper} == paper
    other = rc.simulate("baldoni", params={"max_delay_s": 0.5}, world=SHORT)
    assert other.params == {**r.params, "max_delay_s": 0.5} and other.fingerprint != r.fingerprint


def test_a_scenario_and_a_class_of_one_s_own() -> None:
    world = rc.Scenario(nodes=40, width_m=400.0, height_m=400.0, duration_s=20.0)
    r = rc.simulate(world, Echo, {"delay_ms": 1.0})
    assert r.protocol == "tests.api.test_simulation:Echo"
    assert r.params == {"delay_ms": 1.0} and r.delivery > 0.9
    smaller = rc.simulate(world, Echo, {"delay_ms": 1.0}, world={"nodes": 20})
    assert smaller.world == {"nodes": 20, "width_m": 400.0, "height_m": 400.0, "duration_s": 20.0}
    assert (smaller.scenario.nodes, smaller.scenario.width_m) == (20, 400.0)


def test_a_class_that_no_module_has_runs_too() -> None:
    class Local(Echo):
        pass

    assert (
        rc.simulate(rc.Scenario(duration_s=5.0), Local).fingerprint
        == rc.simulate(rc.Scenario(duration_s=5.0), Echo).fingerprint
    )


def test_events_are_those_that_were_published_in_order_of_time() -> None:
    r = rc.simulate("baldoni", "gossip", world=SHORT)
    published = [row for row in r.log().rows() if row.kind == "publish"]
    assert r.events == [row.event for row in published] and len(r.events) > 10
    assert sorted(r.result.latencies_us) == sorted(_latencies(r))


def _latencies(r: rc.Simulation) -> list[int]:
    rows = list(r.log().rows())
    at = {row.event: row.t for row in rows if row.kind == "publish"}
    return [row.t - at[row.event] for row in rows if row.kind == "deliver"]


def test_the_log_of_a_run_without_one_is_that_of_the_same_run_done_again() -> None:
    r = rc.simulate("baldoni", "gossip", {"p": 0.3}, world=SHORT)
    assert r.log().summary["fingerprint"] == r.fingerprint
    text = str(r.log().why(node=7, event=r.events[0]))
    assert "n7" in text or "node 7" in text


def test_the_log_of_a_run_that_nothing_refers_to_any_more_can_be_read() -> None:
    assert rc.simulate("baldoni", "gossip", world=SHORT).log().events


def test_a_log_is_written_where_it_is_wanted(tmp_path: Path) -> None:
    r = rc.simulate("baldoni", "gossip", world=SHORT, log=tmp_path / "run.parquet", level="deliveries")
    assert (tmp_path / "run.parquet").exists()
    assert {row.kind for row in r.log().rows()} == {"subscribe", "publish", "deliver", "state"}


def test_a_protocol_whose_state_is_global_is_caught() -> None:
    class Forgetful(Echo):
        published = 0

        def on_publish(self, event: rc.Event) -> None:
            Forgetful.published += 1
            if Forgetful.published <= 3:
                super().on_publish(event)

    r = rc.simulate(rc.Scenario(duration_s=10.0), Forgetful)
    with pytest.raises(rc.InputError, match="a second run with the same seed was another one"):
        r.log()


def test_an_unknown_metric_is_an_attribute_error_that_names_the_others() -> None:
    r = rc.simulate("baldoni", "gossip", world={"duration_s": 12.0})
    with pytest.raises(AttributeError, match="no attribute 'delivry'; its metrics: delivery"):
        r.delivry  # noqa: B018
    assert "delivery" in dir(r) and "overhead" in dir(r)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"start": "baldonni"}, "unknown preset 'baldonni'; did you mean 'baldoni'?"),
        ({"start": "baldoni", "protocol": "gosip"}, "unknown protocol 'gosip'; did you mean 'gossip'?"),
        ({"start": "baldoni", "protocol": "gossip", "params": {"q": 1}}, "unknown gossip parameter 'q'"),
        ({"start": "baldoni", "world": {"node": 7}}, "unknown scenario field 'node'; did you mean 'nodes'?"),
        ({"start": "baldoni", "world": {"nodes": "many"}}, "nodes=many: must be a whole number"),
        ({"start": "baldoni", "seed": -1}, "seed=-1: must be a whole number of at least 0"),
        ({"start": "baldoni", "seed": 1.5}, "seed=1.5: must be a whole number of at least 0"),
        ({"start": "baldoni", "protocol": int}, "protocol 'builtins:int': builtins:int is not a subclass"),
        ({"start": "baldoni", "protocol": 5}, "protocol: 5 must be a name, or a class"),
        ({"start": None, "protocol": "gossip"}, "start: None must be a preset's name, a scenario file, or a Scenario"),
        ({"start": "baldoni", "protocol": "gossip", "params": {1: 2}}, "params: 1 must be a name"),
        ({"start": "baldoni", "params": ["p"]}, "params: must be a dictionary from names to values"),
        ({"start": rc.Scenario()}, "which protocol?"),
        ({"start": rc.Scenario(), "protocol": "gossip", "reading": "x"}, "reading=x: a scenario has no paper"),
        ({"start": "baldoni", "reading": "nonsense"}, "unknown reading 'nonsense'"),
    ],
)
def test_mistakes_are_one_line(arguments: dict[str, object], line: str) -> None:
    with pytest.raises(rc.InputError) as error:
        rc.simulate(**arguments)  # type: ignore[arg-type]
    assert str(error.value).startswith(line) and "\n" not in str(error.value)


def test_a_run_shows_itself_in_a_terminal_and_in_a_notebook() -> None:
    r = rc.simulate("baldoni", "gossip", {"p": 0.5}, world=SHORT)
    assert repr(r).startswith("<gossip on baldoni, seed 1: delivery ")
    html = r._repr_html_()
    assert "<table>" in html and "<svg" in html and "delivery" in html
    assert r.command in html


def test_a_world_in_which_most_pairs_have_no_chance_is_called_sparse() -> None:
    r = rc.simulate(rc.Scenario(nodes=40), "gossip")
    missed = r.metrics["interested"] - r.metrics["possible"]
    line = f"not even an ideal flood could reach {missed:,} of the {r.metrics['interested']:,} pairs: a sparse world"
    assert line in repr(r) and line in r._repr_html_()
    assert "sparse" not in repr(rc.simulate("baldoni", "gossip", world=SHORT))


def test_what_to_type_is_known_unless_the_class_is_in_a_function() -> None:
    class Local(Echo):
        pass

    mine = rc.simulate(rc.Scenario(duration_s=5.0), Local)
    assert mine.command == "" and "<code>" not in mine._repr_html_()
    assert rc.simulate("baldoni", "gossip", {"p": 0.5}, seed=3, world=SHORT).command == (
        "roamcast run baldoni --protocol gossip --set p=0.5 --world duration_s=20.0 --seed 3"
    )


def test_its_figure_ends_at_the_share_that_was_delivered() -> None:
    r = rc.simulate("baldoni", "gossip", {"p": 0.5}, world=SHORT)
    (line,) = r.plot().get_lines()
    assert line.get_ydata()[-1] == pytest.approx(r.delivery)
    assert list(line.get_xdata()) == sorted(line.get_xdata())


def test_a_run_in_which_nothing_was_delivered_has_a_figure() -> None:
    r = rc.simulate(rc.Scenario(nodes=2, publishers=0, subscribers=0, duration_s=5.0), Echo)
    assert "<svg" in r._repr_html_()


def test_progress_goes_up_to_one() -> None:
    shares: list[float] = []
    rc.simulate("baldoni", "gossip", world=SHORT, progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0


def test_a_class_and_its_name_are_the_same_protocol() -> None:
    from roamcast.protocols.gossip import Gossip

    scenario = rc.Scenario(duration_s=10.0)
    by_class, by_name = (runs.simulate(scenario, protocol, {}, 1) for protocol in (Gossip, "gossip"))
    assert by_class.fingerprint == by_name.fingerprint
    assert rc.simulate(scenario, Gossip).protocol == "gossip"
