"""Workers take the roamcast that is installed there if it is the driver's, and the one that was sent otherwise."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import roamcast
from roamcast.lab import code
from roamcast.lab.spark.session import ARCHIVE, package

ASK = """
import sys
from pyspark import SparkFiles
SparkFiles._root_directory, SparkFiles._is_running_on_worker = sys.argv[1], True
sys.path.insert(0, sys.argv[2])
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("worker", sys.argv[4])  # as it arrives: without a package
worker = module_from_spec(spec)
spec.loader.exec_module(worker)
worker.find_package(sys.argv[3], "ARCHIVE")
import roamcast
print(roamcast.__file__)
""".replace("ARCHIVE", ARCHIVE)


def searched(root: Path, installed: Path, version: str) -> subprocess.CompletedProcess[str]:
    worker = Path(roamcast.__file__).parent / "lab" / "spark" / "worker.py"
    words = [sys.executable, "-c", ASK, str(root), str(installed), version, str(worker)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def copied(target: Path) -> Path:
    shutil.copytree(
        Path(roamcast.__file__).parent, target / "roamcast", ignore=shutil.ignore_patterns("__pycache__", "*.so")
    )
    return target


def test_an_installed_package_of_the_same_sources_is_taken(tmp_path: Path) -> None:
    installed = copied(tmp_path / "installed")
    assert searched(tmp_path, installed, code.whole()).stdout.strip().startswith(str(installed))


def test_another_version_gives_way_to_the_one_that_was_sent(tmp_path: Path) -> None:
    installed = copied(tmp_path / "installed")
    with (installed / "roamcast" / "lab" / "summarise.py").open("a") as source:
        source.write("# another version\n")
    with zipfile.ZipFile(package()) as archive:
        archive.extractall(tmp_path / ARCHIVE)
    assert searched(tmp_path, installed, code.whole()).stdout.strip().startswith(str(tmp_path / ARCHIVE))


def test_neither_installed_nor_sent_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    done = searched(tmp_path, tmp_path / "none", "0.0.0+0")
    assert "roamcast 0.0.0+0 is not installed on this worker" in done.stderr


def test_what_is_sent_is_the_whole_package() -> None:
    with zipfile.ZipFile(package()) as archive:
        names = archive.namelist()
    assert "roamcast/lab/spark/worker.py" in names
    assert "roamcast/papers/presets/baldoni.toml" in names
    assert not [name for name in names if "__pycache__" in name]
