from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from planner.spark import running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="package")
def spark() -> Iterator["SparkSession"]:
    with running("local[2]") as spark:
        yield spark
