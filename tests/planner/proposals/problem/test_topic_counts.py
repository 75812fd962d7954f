import numpy as np
import pytest

from planner.proposals.problem import topic_counts
from planner.proposals.problem.topic_counts import counts_by_topic, topic_excess
from tests.planner.proposals.builders import padded

LISTS = padded((0, 1), (0, 1), (0,), (2,))
TOPICS = np.array([0, 0, 0, 1])


def test_replicas_above_the_share_of_a_topic_are_counted() -> None:
    """Five replicas of the first topic on three brokers: a share of 2, and broker 0 has 3."""
    assert topic_excess(TOPICS, LISTS, brokers=3, usable=3) == 1


def test_few_usable_brokers_have_a_larger_share() -> None:
    assert topic_excess(TOPICS, LISTS, brokers=3, usable=1) == 0


def test_topics_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_counts, "CELLS", 3)
    parts = [(first, counts.tolist()) for first, counts in counts_by_topic(TOPICS, LISTS, 3)]
    assert parts == [(0, [[3, 2, 0]]), (1, [[0, 0, 1]])]


def test_no_partition_has_no_excess() -> None:
    assert topic_excess(TOPICS[:0], LISTS[:0], brokers=3, usable=3) == 0
