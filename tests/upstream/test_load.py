"""The measured load of a real Kafka, compared with what was written and committed in the same time.

Nothing is written at the first and at the last sample, so the sums are those of the test, however slow the
machine is. A sample is taken every 5 s, offsets are read every 10 s, and the broker deletes every second.
`python -m bench.load_truth` does the same for longer, with the broker's own counters beside it.
"""

from collections.abc import Iterator

import pytest

from backends.load import columns
from backends.load.sampler import Timing
from bench.load_truth import CLEANING, LOADS, compare
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import Spec

pytestmark = pytest.mark.timeout(300)

TIMING = Timing(sample=5, groups=10, window=1_000, timeout=20)
ROUNDS = 9


@pytest.fixture(scope="module")
def cleaning() -> Iterator[KafkaCluster]:
    """Two brokers that delete and compact all the time."""
    settings = CLEANING | {"log.retention.check.interval.ms": "1000"}
    with running_kafka(Spec(2, "4.1", settings=settings)) as cluster:
        yield cluster


async def test_what_producers_and_consumers_did_is_found(
    cleaning: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "LATE_FRACTION", 1.0)  # When an answer was made does not matter here.
    outcome = await compare(cleaning, TIMING, ROUNDS)
    assert outcome.problems == []
    exact = {each.topic: each.error for each in outcome.found if not each.estimated}
    estimated = {each.topic: each.error for each in outcome.found if each.estimated}
    assert estimated.keys() == {"deleted", "compacted", "mixed"}
    assert exact.keys() == LOADS.keys() - estimated.keys()
    assert max(exact.values()) <= 0.02, exact
    assert max(estimated[each] for each in ("deleted", "compacted")) <= 0.1, estimated
    # Records of 0 to 20 KB: a few intervals tell less of their mean size than the five minutes of a window.
    assert estimated["mixed"] <= 0.2, estimated
    assert outcome.consumer <= 0.05
    # Only the first answers of each broker are walked by topic: sizes, and offsets of the one that leads.
    assert outcome.walked <= 6
