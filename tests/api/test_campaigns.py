"""`rc.campaign`: a campaign in one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import roamcast as rc

CONTENT: dict[str, Any] = {
    "name": "tiny",
    "preset": "baldoni",
    "seeds": 2,
    "world": {"duration_s": 15.0, "nodes": 30},
    "protocol": [{"name": "gossip", "set": {"p": [0.3, 0.9]}}],
}
TEXT = """\
name = "tiny"
preset = "baldoni"
seeds = 2
world = { duration_s = 15.0, nodes = 30 }
[[protocol]]
name = "gossip"
set = { p = [0.3, 0.9] }
"""


def test_a_file_goes_to_the_folder_of_its_name_and_again_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TEXT)
    shares: list[float] = []
    opened = rc.campaign("tiny.toml", processes=2, progress=shares.append)
    assert opened.folder.path == Path("out/tiny") and shares[-1] == 1.0
    assert [(row["p_p"], row["seed"]) for row in opened.rows("metrics")] == [(0.3, 1), (0.3, 2), (0.9, 1), (0.9, 2)]
    before = {path: path.stat().st_mtime_ns for path in Path("out/tiny/done").iterdir()}
    again = rc.campaign("tiny.toml", processes=2)
    assert {path: path.stat().st_mtime_ns for path in Path("out/tiny/done").iterdir()} == before
    assert again.rows("metrics") == opened.rows("metrics")


def test_a_dictionary_is_the_same_campaign(tmp_path: Path) -> None:
    file = tmp_path / "tiny.toml"
    file.write_text(TEXT)
    of_file = rc.campaign(file, out=tmp_path / "a", processes=1)
    of_content = rc.campaign(CONTENT, out=tmp_path / "b", processes=1)
    assert of_file.rows("metrics") == of_content.rows("metrics")
    result = of_file.against(of_content)
    assert result.changes == [] and [row["same"] for row in result.rows] == [2, 2]


@pytest.mark.parametrize(
    ("source", "options", "line"),
    [
        (CONTENT, {}, "out: a campaign that has no file needs a folder"),
        (7, {}, "source: 7 must be a campaign file, or its content"),
        (CONTENT, {"out": "x", "engine": "dask"}, "engine=dask: must be 'local', 'spark', or a Spark session"),
        (CONTENT, {"out": "x", "engine": "spark", "processes": 2}, "processes=2: is for engine='local'"),
        (CONTENT, {"out": "x", "processes": 0}, "processes=0: must be a whole number of at least 1"),
        ({**CONTENT, "preset": "baldony"}, {"out": "x"}, "unknown preset 'baldony'"),
    ],
)
def test_what_is_wrong_is_one_line(
    source: Any, options: dict[str, Any], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rc.InputError, match=line):
        rc.campaign(source, **options)
    assert list(tmp_path.iterdir()) == []
