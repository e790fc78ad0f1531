"""Scenario files: changes of a preset or of the defaults; errors name their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.papers import joint, presets
from roamcast.papers.presets import Preset
from roamcast.world.scenario import Scenario

MINE = """\
title = "half of them asleep"
preset = "li"
protocol = "gossip"
seed = 7
set = { p = 0.8 }

[world]
nodes = 600
"""


def load(folder: Path, text: str, reading: str = "") -> Preset:
    (folder / "my.toml").write_text(text)
    return presets.load(str(folder / "my.toml"), reading)


def test_a_file_changes_its_preset(tmp_path: Path) -> None:
    mine, li = load(tmp_path, MINE), presets.load("li")
    assert (mine.title, mine.protocol, mine.seed) == ("half of them asleep", "gossip", 7)
    assert mine.name == str(tmp_path / "my.toml")
    assert mine.values == {**li.values, "nodes": 600, "publishers": 600, "subscribers": 600}
    assert mine.sources["nodes"] == mine.name
    assert mine.sources["width_m"] == li.sources["width_m"]


def test_parameters_of_a_paper_apply_unless_the_file_or_the_command_line_has_others(tmp_path: Path) -> None:
    mine = load(tmp_path, MINE)
    assert mine.parameters("gossip", {}) == {"p": 0.8, "ttl": 0, "jitter_ms": 2.0}
    assert mine.parameters("gossip", {"p": "0.1"})["p"] == "0.1"
    assert mine.parameters("treegroup", {}) == presets.load("li").parameters("treegroup", {})


def test_parameters_without_a_protocol_are_those_of_the_presets(tmp_path: Path) -> None:
    mine = load(tmp_path, 'preset = "baldoni"\n[set]\ncredits = 2\n')
    assert mine.protocol == "proximity"
    assert mine.parameters("proximity", {})["credits"] == 2


def test_without_a_preset_a_file_starts_from_the_scenarios_defaults(tmp_path: Path) -> None:
    mine = load(tmp_path, "[world]\nnodes = 30\n")
    assert (mine.scenario(), mine.protocol, mine.seed) == (Scenario(nodes=30), "", 1)


def test_publishers_and_subscribers_follow_the_nodes_of_a_file_unless_it_gives_them(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text('preset = "li"\nworld = { nodes = 100, publishers = 7 }\n')
    preset = presets.load(str(path))
    assert (preset.values["publishers"], preset.values["subscribers"]) == (7, 100)
    halved = preset.scenario({"nodes": 50})
    assert (halved.publishers, halved.subscribers) == (7, 50)


def test_no_name_means_the_scenarios_defaults() -> None:
    assert presets.load("").scenario() == Scenario()


def test_a_file_may_name_another_reading_and_a_typed_one_replaces_it(tmp_path: Path) -> None:
    first, second = [change.name for change in joint.of_preset("baldoni").changes if change.needs_runs][:2]
    text = f'preset = "baldoni"\nreading = "{first}"\n'
    assert load(tmp_path, text).reading == first
    assert load(tmp_path, text).values == presets.load("baldoni", first).values
    assert load(tmp_path, text, second).reading == second


def test_files_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "met").write_text("20 0 1\n")
    (tmp_path / "sub" / "my.toml").write_text(
        'protocol = "gossip"\n[world]\nmobility = "contacts"\ntrace = "met"\nnodes = 5\nsubscribers = 2\n'
    )
    monkeypatch.chdir(tmp_path)
    assert presets.load("sub/my.toml").scenario().trace == str(tmp_path / "sub" / "met")


@pytest.mark.parametrize(("name", "file"), [("li", False), ("my.toml", True), ("./li", True), ("a/b", True)])
def test_a_path_is_distinguished_from_the_name_of_a_preset(name: str, file: bool) -> None:
    assert presets.is_file(name) is file


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nodes = 600", "nodes = 0", "my.toml:8: nodes=0: must be a whole number, at least 1"),
        ("nodes = 600", "nodez = 5", "my.toml:8: unknown scenario field 'nodez'; did you mean 'nodes'?"),
        ("nodes = 600", "publishers = 600", "my.toml:8: publishers (600) must not be above nodes (500)"),
        ("nodes = 600", 'street_map = "none.wkt"', "my.toml:8: street_map=none.wkt: there is no such file"),
        ("nodes = 600", "[wrld]", "my.toml:8: unknown field 'wrld'; did you mean 'world'?"),
        ('"li"', '"lii"', "my.toml:2: unknown preset 'lii'; did you mean 'li'?"),
        ('"li"', '"other.toml"', "my.toml:2: preset=other.toml: must be one of baehni-city, "),
        ('"gossip"', '"gosip"', "my.toml:3: unknown protocol 'gosip'; did you mean 'gossip'?"),
        ("p = 0.8", "p = 1.8", "my.toml:5: p=1.8: must be a number between 0 and 1"),
        ("p = 0.8", "q = 1", "my.toml:5: unknown gossip parameter 'q'; known: "),
        ("seed = 7", "seed = -7", "my.toml:4: seed: must be a whole number of at least 0"),
        ("seed = 7", "sead = 7", "my.toml:4: unknown field 'sead'; did you mean 'seed'?"),
        ("seed = 7", 'reading = "x"', "my.toml:4: unknown reading 'x'"),
        ('preset = "li"\nprotocol = "gossip"', "", "my.toml:4: set: must come with a protocol, or with a preset"),
        ('preset = "li"', 'reading = "x"', "my.toml:2: reading=x: must come with a preset"),
        ("[world]", "[world", "my.toml:7: "),
        ("nodes = 600", 'nodes = "many"', "my.toml:8: nodes=many: must be a whole number"),
        ("nodes = 600", "nodes = [10, 20]", "my.toml:8: nodes=[10, 20]: must be a whole number"),
        ("nodes = 600", "loss = 2", "my.toml:8: loss=2: must be a number, at least 0 and at most 1"),
        ("nodes = 600", "keep_tables = 1", "my.toml:8: keep_tables=1: must be true or false"),
        ("nodes = 600", 'mobility = "wapoint"', "my.toml:8: unknown mobility 'wapoint'; did you mean 'waypoint'?"),
        (
            "nodes = 600",
            'mac = "no_such_module:X"',
            "my.toml:8: mac 'no_such_module:X' cannot be loaded: No module named",
        ),
        (
            "nodes = 600",
            "mobility.lanes = 2",
            "my.toml:8: mobility: must be a name; its parameters are in the table",
        ),
        (
            "nodes = 600",
            "mobility_set = { lanes = 2 }",
            "my.toml:8: mobility.lanes=2: mobility=waypoint has no parameters",
        ),
        ("seed = 7", 'seed = "7"', "my.toml:4: seed: must be a whole number, not a text"),
        ("set = { p = 0.8 }", "set = 0.8", "my.toml:5: set: must be a table, not a number"),
        ("[world]\nnodes = 600", "world = 5", "my.toml:7: world: must be a table, not a whole number"),
        ('"gossip"', "3", "my.toml:3: protocol: must be a text, not a whole number"),
        ('"gossip"', '"mine:"', "my.toml:3: protocol 'mine:': must be a name or module:Class"),
        ("seed = 7", "seeds = 7", "my.toml:4: seeds: this is a campaign; type roamcast campaign run "),
        (
            'protocol = "gossip"',
            'protocol = [{ name = "gossip" }]',
            "my.toml:3: protocol: this is a campaign; type roamcast campaign run ",
        ),
    ],
)
def test_an_error_names_file_line_and_what_would_be_right(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in MINE
    with pytest.raises(InputError) as caught:
        load(tmp_path, MINE.replace(old, new))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_an_error_in_the_parameters_of_a_part_names_their_line(tmp_path: Path) -> None:
    shuttle = 'protocol = "gossip"\n[world]\nmobility = "tests.world.outside:Shuttle"\n'
    for text, line in (
        ("mobility_set = { lanes = 0 }", 4),
        ('"mobility.lanes" = 0', 4),
        ("[world.mobility_set]\nlanes = 0", 5),
    ):
        with pytest.raises(
            InputError, match=rf"^my.toml:{line}: mobility.lanes=0: must be a whole number of at least 1$"
        ):
            load(tmp_path, shuttle + text)
    with pytest.raises(
        InputError, match=r"^my.toml:4: mobility.lane=1: .* has no such parameter; did you mean 'lanes'\?$"
    ):
        load(tmp_path, shuttle + "mobility_set = { lane = 1 }")


def test_the_sources_name_the_file_for_its_values(tmp_path: Path) -> None:
    mine = load(tmp_path, MINE)
    assert {field for field, source in mine.sources.items() if source == mine.name} == {"nodes", "gossip.p"}


def test_parameters_of_a_part_are_removed_when_another_replaces_it(tmp_path: Path) -> None:
    text = 'protocol = "gossip"\n[world]\nmobility = "tests.world.outside:Shuttle"\nmobility_set = { lanes = 2 }\n'
    mine = load(tmp_path, text)
    assert mine.scenario({"mobility.lanes": "3"}).mobility_set == {"lanes": 3}
    assert mine.scenario({"mobility": "static"}).mobility_set == {}
    again = mine.scenario({"mobility": "tests.world.outside:Shuttle", "mobility.speed_mps": 2})
    assert again.mobility_set == {"lanes": 2, "speed_mps": 2.0}


def test_a_map_may_be_a_folder_and_a_file_may_be_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "town").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    named = [load(tmp_path, f'[world]\nmobility = "city"\nstreet_map = "{name}"\n') for name in ("town", "~/town")]
    assert [mine.scenario().street_map for mine in named] == [str(tmp_path / "town")] * 2


def test_a_forgotten_ending_gets_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(tmp_path, MINE)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^unknown preset 'my'; did you mean the file my.toml\?$"):
        presets.load("my")


def test_a_file_that_is_not_text_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_bytes(b"title = \xff")
    with pytest.raises(InputError, match=r"^cannot read the scenario .*my.toml: not text in UTF-8$"):
        presets.load(str(tmp_path / "my.toml"))
    with pytest.raises(InputError, match=r"^cannot read the scenario .*: is a directory$"):
        presets.load(str(tmp_path))


def test_a_missing_file_gives_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^cannot read the scenario .*none.toml: no such file or directory$"):
        presets.load(str(tmp_path / "none.toml"))
