"""Limits of requests for new partitions."""

from typing import Any

import pytest

from common.error_codes import ErrorCode
from controller.machine import decide
from controller.messages.events import CreatePartitions, CreateTopics, NewPartitions, NewTopic
from controller.model.cluster import Config, ResourceType
from controller.state.decision import Decision
from tests.builders import InMemoryController, partition
from tests.controller.topic_requests import ID, create, grow


@pytest.mark.parametrize(
    "topics",
    [
        [NewTopic("foo", ID, 2**31 - 1, 1)],
        [NewTopic("foo", ID, 5_000, 1), NewTopic("bar", ID, 5_001, 1)],
        [NewTopic("foo", ID, assignments=dict.fromkeys(range(10_001), (1,)))],
        [NewTopic("foo", ID, assignments={0: (1,) * 100_001})],
        [NewTopic("foo", ID), NewTopic("bar", ID, 10_000, 1)],
        [NewTopic("foo", ID, 10_000, 11)],
    ],
)
def test_a_request_for_too_many_partitions_creates_nothing(topics: list[NewTopic]) -> None:
    controller = InMemoryController(range(1, 21))
    d = Decision(controller.state)
    assert list(decide(d, CreateTopics(topics))) == []
    assert {created.outcome.error for created in d.reply} == {ErrorCode.POLICY_VIOLATION}
    assert len(d.reply) == len(topics)
    assert d.changes == []


def test_the_clusters_default_is_bounded_too() -> None:
    controller = InMemoryController()
    controller.put(Config(ResourceType.BROKER, "", "num.partitions", str(2**31 - 1)))
    assert create(controller).outcome.error is ErrorCode.POLICY_VIOLATION


@pytest.mark.parametrize(("total", "assignments"), [(2**31 - 1, None), (10_002, None), (2, [(1,) * 100_001])])
def test_growth_by_too_many_partitions_is_refused(total: int, assignments: Any) -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1,)), partition("bar-0", (1,)))
    outcome = grow(controller, total, assignments)
    assert outcome.error is ErrorCode.POLICY_VIOLATION
    assert "one request may add 10,000 partitions with 100,000 replicas" in outcome.text
    assert controller.changes == []


def test_the_bound_of_growth_is_that_of_the_whole_request() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1,)), partition("bar-0", (1,)))
    both = CreatePartitions([NewPartitions("foo", 5_001), NewPartitions("bar", 5_002)])
    assert {outcome.error for _, outcome in controller.do(both).reply} == {ErrorCode.POLICY_VIOLATION}
    assert grow(controller, 10_001).ok


def test_a_topic_too_large_for_the_backend_is_neither_created_nor_grown() -> None:
    controller = InMemoryController()
    controller.state.fits_topic = lambda partitions, replicas: partitions + replicas <= 12
    assert create(controller, partitions=5, replication_factor=2).outcome.error is ErrorCode.POLICY_VIOLATION
    assert (
        create(controller, assignments=dict.fromkeys(range(5), (1, 2))).outcome.error
        is ErrorCode.POLICY_VIOLATION
    )
    assert create(controller, partitions=4, replication_factor=2).outcome.ok
    assert grow(controller, 5).error is ErrorCode.POLICY_VIOLATION
