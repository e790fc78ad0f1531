"""How Spark is started: with the classes that were kept, if they were."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from roamcast.lab.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_java_maps_the_classes_that_setup_has_kept(spark: SparkSession) -> None:
    java = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    mapped = Path(f"/proc/{java}/maps").read_text()
    kept = session.archived_classes()
    assert (str(kept) in mapped) == kept.exists()


def test_without_kept_classes_java_gets_no_option_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert "SharedArchiveFile" not in session.java_options()
    kept = session.archived_classes()
    kept.parent.mkdir(parents=True)
    kept.touch()
    assert f'"-XX:SharedArchiveFile={kept}"' in session.java_options()


def test_java_starts_without_classes_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "junk.jsa").write_bytes(b"junk" * 1000)
    started = [session.java(), f"-XX:SharedArchiveFile={tmp_path / 'junk.jsa'}", "-version"]
    assert subprocess.run(started, capture_output=True, check=False).returncode == 0


def test_options_from_the_environment_are_not_the_version_of_java(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = []
    for options in ("-Dsome=thing", ""):
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", options)
        session.java_version.cache_clear()
        lines.append(session.java_version())
    assert lines[0] == lines[1]


def test_another_java_has_classes_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    before = session.archived_classes()
    monkeypatch.setattr(session, "java_version", lambda: 'openjdk version "99"')
    assert session.archived_classes() != before
