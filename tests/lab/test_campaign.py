"""Campaign files: what they expand to, and that an error names its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.lab import campaign, plan
from roamcast.lab.campaign import parse
from roamcast.papers import joint
from roamcast.world.scenario import Scenario
from tests.world.outside import Shuttle

SPEEDS = """\
name = "speeds"
preset = "baldoni"
seeds = 3

[world]
speed_max_mps = [20.0, 40.0]
nodes = 50

[[protocol]]
name = "gossip"
set = { p = [0.3, 0.6] }

[[protocol]]
name = "proximity"
label = "two credits"
set = { credits = 2 }
"""


def test_lists_are_grids_of_worlds_and_parameters() -> None:
    cells = parse(SPEEDS).cells
    described = [(cell.label, cell.world["speed_max_mps"], cell.given) for cell in cells]
    assert described == [
        ("gossip", 20.0, {"p": 0.3}),
        ("gossip", 20.0, {"p": 0.6}),
        ("gossip", 40.0, {"p": 0.3}),
        ("gossip", 40.0, {"p": 0.6}),
        ("two credits", 20.0, {"credits": 2}),
        ("two credits", 40.0, {"credits": 2}),
    ]
    assert {cell.scenario.nodes for cell in cells} == {50}
    assert [cell.scenario.speed_max_mps for cell in cells[:3]] == [20.0, 20.0, 40.0]


def test_a_cell_has_every_parameter_in_effect_and_the_presets_over_the_protocols_defaults() -> None:
    cell = parse('name = "x"\npreset = "baldoni"\n[[protocol]]\nname = "gossip"\n').cells[0]
    assert cell.given == {}
    assert cell.params["p"] == 0.5  # the preset's
    assert "jitter_s" in cell.params or "jitter" in str(cell.params)


def test_a_campaign_may_be_of_another_reading_of_its_paper() -> None:
    (change,) = [c for c in joint.of_preset("baldoni").changes if c.params.get("proximity", {}).get("beaconers")]
    text = f'name = "x"\npreset = "baldoni"\nreading = "{change.name}"\n[[protocol]]\nname = "proximity"\n'
    parsed = parse(text)
    assert parsed.reading == change.name
    assert parsed.cells[0].params["beaconers"] == change.params["proximity"]["beaconers"]
    assert parse(text.replace(f'reading = "{change.name}"\n', "")).cells[0].params != parsed.cells[0].params
    assert f"--reading {change.name}" in plan.runs(parsed)[0].command()
    with pytest.raises(InputError, match=r"campaign:3: unknown reading 'nonsense'"):
        parse(text.replace(change.name, "nonsense"))


def test_points_vary_together_and_are_combined_with_the_grid() -> None:
    text = SPEEDS.replace("nodes = 50\n", "") + "[[point]]\nnodes = 60\nwidth_m = 700.0\n[[point]]\nnodes = 90\n"
    worlds = [cell.world for cell in parse(text).cells if cell.label == "two credits"]
    assert worlds == [
        {"speed_max_mps": 20.0, "nodes": 60, "width_m": 700.0},
        {"speed_max_mps": 40.0, "nodes": 60, "width_m": 700.0},
        {"speed_max_mps": 20.0, "nodes": 90},
        {"speed_max_mps": 40.0, "nodes": 90},
    ]


def test_seeds_are_counted_from_one_or_listed_and_go_on_after_the_last() -> None:
    assert parse(SPEEDS).seeds == [1, 2, 3]
    listed = parse(SPEEDS.replace("seeds = 3", "seeds = [7, 5]"))
    assert listed.seeds == [7, 5]
    assert listed.more_seeds(4) == [7, 5, 8, 9]
    assert listed.more_seeds(1) == [7]


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ("p = [0.3, 0.6]", "p = [0.3, 1.6]", "x.toml:11: p=1.6: must be a number between 0 and 1"),
        ("p = [0.3, 0.6]", "q = 1", "x.toml:11: unknown"),
        ('name = "gossip"', 'name = "gosip"', "x.toml:10: unknown protocol 'gosip'; did you mean 'gossip'?"),
        ("nodes = 50", "nodes = -5", "x.toml:7: nodes=-5: must be a whole number"),
        ("nodes = 50", "nodez = 5", "x.toml:7: unknown scenario field 'nodez'; did you mean 'nodes'?"),
        ("nodes = 50", "nodes = []", "x.toml:7: nodes: must not be an empty list"),
        ("nodes = 50", "nodes = [50, 50]", "x.toml:7: nodes: no value must stand twice"),
        ("nodes = 50", "nodes = { a = 1 }", "x.toml:7: nodes: must be a value or a list of values"),
        ("seeds = 3", "seeds = 3\nlimit_s = 1e10", "x.toml:4: limit_s: must be"),
        ("seeds = 3", "seeds = 0", "x.toml:3: seeds: must be a number of at least 1"),
        ("seeds = 3", "seeds = [1, 1]", "x.toml:3: seeds: none must stand twice"),
        ("seeds = 3", "seeds = [-1]", "x.toml:3: seeds: must be whole numbers of at least 0"),
        (
            "seeds = 3",
            "seeds = [99999999999999999999]",
            "x.toml:3: seeds: must be whole numbers of at least 0 and below",
        ),
        ("seeds = 3", "seeds = 1000000000", "x.toml:3: seeds: 1,000,000,000 of them; there must not be over"),
        ("nodes = 50", "nodes = 50\nsubscribers = 99", "x.toml:8: subscribers (99) must not be above nodes (50)"),
        ("nodes = 50", 'street_map = "nowhere.wkt"', "x.toml:7: street_map=nowhere.wkt: there is no such file"),
        ("seeds = 3", 'seeds = "3"', "x.toml:3: seeds: must be"),
        ("seeds = 3", "sedes = 3", "x.toml:3: unknown field 'sedes'; did you mean 'seeds'?"),
        ("seeds = 3", 'level = "some"', "x.toml:3: unknown level 'some'"),
        ('preset = "baldoni"', 'preset = "baldonni"', "x.toml:2: unknown preset 'baldonni'; did you mean 'baldoni'?"),
        ('name = "speeds"', "", "x.toml:1: name: is missing"),
        ('preset = "baldoni"', 'preset = "my.toml"', "x.toml:2: cannot read the scenario "),
        ('preset = "baldoni"', 'reading = "x"', "x.toml:2: reading=x: must come with a preset"),
        ("nodes = 50", 'mobility = "waypont"', "x.toml:7: unknown mobility 'waypont'; did you mean 'waypoint'?"),
        (
            "nodes = 50",
            'mobility = "tests.world.outside:Shuttle"\n"mobility.lanes" = [1, 0]',
            "x.toml:8: mobility.lanes=0: must be a whole number of at least 1",
        ),
        ("seeds = 3", 'until = { metric = "delivery", half_with = 1 }', "x.toml:3: unknown field 'half_with'; did you"),
        ("seeds = 3", "seeds = = 3", "x.toml:3: no value"),
        ("label = ", "lable = ", "x.toml:15: unknown field 'lable'; did you mean 'label'?"),
        (
            "seeds = 3",
            'until = { metric = "delivry", half_width = 0.1 }',
            "x.toml:3: unknown metric 'delivry'; did you mean 'delivery'?",
        ),
        ("seeds = 3", 'until = { metric = "delivery", half_width = 0 }', "x.toml:3: until.half_width: must be"),
        (
            "seeds = 3",
            'seeds = 5\nuntil = { metric = "delivery", half_width = 1, max_seeds = 4 }',
            "x.toml:4: max_seeds=4: must not be below the number of seeds (5)",
        ),
    ],
)
def test_an_error_names_file_line_and_what_would_be_right(wrong: str, right: str, message: str) -> None:
    assert wrong in SPEEDS
    with pytest.raises(InputError) as raised:
        parse(SPEEDS.replace(wrong, right), "x.toml")
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_an_error_in_the_second_point_names_its_line() -> None:
    text = SPEEDS + "[[point]]\nwidth_m = 10.0\n[[point]]\nwidth_m = -1.0\n"
    with pytest.raises(InputError, match=r"^x.toml:20: width_m=-1"):
        parse(text, "x.toml")


def test_a_field_in_world_and_in_a_point_is_refused() -> None:
    with pytest.raises(InputError, match=r"^x.toml:18: nodes: stands in \[world\] and in a \[\[point\]\]"):
        parse(SPEEDS + "[[point]]\nnodes = 10\n", "x.toml")


def test_the_same_experiment_twice_is_refused_unless_it_has_another_label() -> None:
    twice = SPEEDS + '[[protocol]]\nname = "proximity"\nlabel = "%s"\nset = { credits = 2 }\n'
    with pytest.raises(InputError, match="two credits: the same experiment twice"):
        parse(twice % "two credits")
    assert len(parse(twice % "again").cells) == 8


def test_a_campaign_too_large_to_mean_is_refused() -> None:
    values = ", ".join(str(k) for k in range(10, 1010))
    many = SPEEDS.replace("nodes = 50", f"nodes = [{values}]\nrange_m = [{values}]")
    with pytest.raises(InputError, match=r"^campaign:10: 18,000,000 runs; there must not be over 1,000,000"):
        parse(many)


def test_runs_that_may_be_added_until_it_is_tight_enough_count() -> None:
    until = 'until = { metric = "delivery", half_width = 0.1, max_seeds = %d }\n'
    many = SPEEDS.replace("nodes = 50", f"nodes = {list(range(10, 30))}")
    assert len(parse(until % 8333 + many).cells) == 120
    over = r"1,000,080 runs, 8,334 seeds each \(until.max_seeds\); there must not be over 1,000,000"
    with pytest.raises(InputError, match=over):
        parse(until % 8334 + many)


def test_a_file_that_cannot_be_read_gives_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read the campaign .*nowhere.toml: no such file"):
        campaign.load(tmp_path / "nowhere.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not text in UTF-8"):
        campaign.load(tmp_path / "x.toml")


# ---- where it starts from, and files that it names


def test_without_a_preset_a_campaign_starts_from_the_scenarios_defaults() -> None:
    parsed = parse('name = "x"\n[world]\nnodes = 30\n[[protocol]]\nname = "gossip"\n')
    assert parsed.preset == ""
    assert parsed.cells[0].scenario == Scenario(nodes=30)
    words = plan.runs(parsed)[0].command()
    assert words == "roamcast run --protocol gossip --world nodes=30 --seed 1"


def test_a_campaign_may_start_from_a_scenario_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(
        'preset = "baldoni"\nprotocol = "gossip"\nset = { p = 0.3 }\n[world]\nnodes = 31\n'
    )
    file = tmp_path / "c.toml"
    file.write_text('name = "x"\npreset = "my.toml"\n[world]\nloss = [0.0, 0.1]\n[[protocol]]\nname = "gossip"\n')
    loaded = campaign.load(file)
    assert loaded.preset == str(tmp_path / "my.toml")
    assert [(cell.scenario.nodes, cell.scenario.loss, cell.params["p"]) for cell in loaded.cells] == [
        (31, 0.0, 0.3),
        (31, 0.1, 0.3),
    ]
    assert plan.runs(loaded)[0].command().startswith(f"roamcast run {tmp_path / 'my.toml'} --protocol gossip")


def test_a_mistake_in_the_scenario_file_names_both_lines(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text("[world]\nnodes = 0\n")
    file = tmp_path / "c.toml"
    file.write_text('name = "x"\npreset = "my.toml"\n[[protocol]]\nname = "gossip"\n')
    with pytest.raises(InputError, match=r"^c.toml:2: my.toml:2: nodes=0: must be a whole number, at least 1"):
        campaign.load(file)


def test_files_are_relative_to_the_campaigns_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a", "b"):
        (tmp_path / "sub" / name).write_text("20 0 1\n")
    file = tmp_path / "sub" / "c.toml"
    world = 'mobility = "contacts"\ntrace = ["a", "b"]\nnodes = 5\nsubscribers = 2\n'
    file.write_text(f'name = "x"\n[world]\n{world}[[protocol]]\nname = "gossip"\n')
    monkeypatch.chdir(tmp_path)
    named = [str(tmp_path / "sub" / name) for name in ("a", "b")]
    loaded = campaign.load(Path("sub/c.toml"))
    assert [cell.scenario.trace for cell in loaded.cells] == named
    assert [cell.world["trace"] for cell in loaded.cells] == named
    assert f"--world trace={named[1]}" in plan.runs(loaded)[-1].command()


def test_paths_in_a_scenario_file_are_relative_to_that_file_and_not_to_the_campaigns(tmp_path: Path) -> None:
    """Both folders have a file `met`; the campaign's own is taken where the campaign itself names it."""
    for folder in ("worlds", "campaigns"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "met").write_text("20 0 1\n")
    world = '[world]\nmobility = "contacts"\ntrace = "met"\nnodes = 5\nsubscribers = 2\n'
    (tmp_path / "worlds" / "my.toml").write_text(world)
    file = tmp_path / "campaigns" / "c.toml"
    start = 'name = "x"\npreset = "../worlds/my.toml"\n'
    traces = []
    for own in ("", '[world]\ntrace = "met"\n'):
        file.write_text(f'{start}{own}[[protocol]]\nname = "gossip"\n')
        traces.append(Path(campaign.load(file).cells[0].scenario.trace).resolve())
    assert traces == [tmp_path / "worlds" / "met", tmp_path / "campaigns" / "met"]


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ('title = "x"\n', "title"),
        ("set = { p = 1 }\n", "set"),
        ("seed = 1\n", "seed"),
        ('protocol = "gossip"\n', "protocol"),
    ],
)
def test_a_scenario_file_in_the_place_of_a_campaign_gets_a_hint(text: str, entry: str) -> None:
    with pytest.raises(InputError, match=rf"^x.toml:1: {entry}: this is a scenario file; type roamcast run FILE, or"):
        parse(text, "x.toml")


def test_parameters_of_a_part_may_stand_in_a_table(tmp_path: Path) -> None:
    world = 'mobility = "tests.world.outside:Shuttle"\nmobility_set = { lanes = [2, 3], speed_mps = 4 }\n'
    text = f'name = "x"\n[world]\n{world}[[protocol]]\nname = "gossip"\n'
    settings = [cell.scenario.mobility_set for cell in parse(text).cells]
    assert settings == [{"lanes": 2, "speed_mps": 4.0}, {"lanes": 3, "speed_mps": 4.0}]
    with pytest.raises(InputError, match=r"^x.toml:4: mobility.lanes=0: must be a whole number of at least 1"):
        parse(text.replace("[2, 3]", "[2, 0]"), "x.toml")
    with pytest.raises(InputError, match=r"^x.toml:8: mobility.lanes: stands in \[world\] and in a"):
        parse(text + '[[point]]\n"mobility.lanes" = 5\n', "x.toml")


def test_a_class_stands_for_its_name() -> None:
    content = {"name": "x", "world": {"mobility": [Shuttle, "static"]}, "protocol": [{"name": "gossip"}]}
    understood = campaign.understood(content)
    assert [cell.world["mobility"] for cell in understood.cells] == ["tests.world.outside:Shuttle", "static"]


def test_parameters_of_a_part_of_the_world_can_be_a_grid() -> None:
    world = 'mobility = "tests.world.outside:Shuttle"\n"mobility.lanes" = [2, 3]\n'
    parsed = parse(f'name = "x"\n[world]\n{world}[[protocol]]\nname = "gossip"\n')
    assert [cell.scenario.mobility_set for cell in parsed.cells] == [{"lanes": 2}, {"lanes": 3}]
    assert "--world mobility.lanes=3" in plan.runs(parsed)[-1].command()
