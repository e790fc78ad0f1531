"""One Spark session for all tests that want one, in two processes: starting one takes longer than most tests do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from roamcast.lab.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


BEARS = 4
"""Deaths of a worker in one task, before Spark gives up: fewer than usual, because a test goes beyond that."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    place = tmp_path_factory.mktemp("spark")
    conf = {"spark.sql.shuffle.partitions": "4"}
    started = session(f"local[2,{BEARS}]", conf=conf, log=place / "spark.log", scratch=place)
    yield started
    started.stop()
