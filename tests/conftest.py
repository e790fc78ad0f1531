"""One Spark for all; and property tests try the same examples on every run, so that a failure is somebody's change.

HYPOTHESIS_PROFILE=explore pytest …     new examples each time, to look for what the others miss
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.support import s3

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark's jobs in tests are so short that compiling them well takes longer than running them. A Java that compiles only
# a little reserves 48 MB for compiled code, and a session for hundreds of tests needs more: it failed in the middle.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC")

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for all tests of a process that want one: starting it takes longer than most of them do.

    It bears fewer deaths of workers than usual, because a test goes beyond what it bears.
    """
    from roamcast.lab.spark.session import session

    place = tmp_path_factory.mktemp("spark")
    conf = {"spark.sql.shuffle.partitions": "4"}
    started = session("local[2,4]", conf=conf, log=place / "spark.log", scratch=place)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of an S3 server; one for all tests of a process."""
    with s3.serving() as address:
        yield address


@pytest.fixture
def bucket(s3_server: str) -> str:
    """The URL of a place in it where nothing is."""
    return s3.bucket(s3_server)
