"""kafka-python's admin client with reassignd's additions, against the embedded cluster."""

import warnings
from collections.abc import Iterator

import pytest

with warnings.catch_warnings():
    # kafka-python reads its schemas by a deprecated function.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import TopicPartition
    from kafka.errors import NoReassignmentInProgressError, UnknownTopicOrPartitionError

    from reassignd.admin import Batch, ReassigndAdminClient
from reassignd.config.errors import CommandError
from tests.reassignd.shell import Shell

pytestmark = pytest.mark.whole


def foo(number: int) -> TopicPartition:
    return TopicPartition("foo", number)


@pytest.fixture
def admin(slow: Shell) -> Iterator[ReassigndAdminClient]:
    """A client of a cluster in which one partition moves at a time, for a second or more."""
    with ReassigndAdminClient(bootstrap_servers=slow.server.bootstrap, url=slow.url) as client:
        client.set_limits(P=1)
        yield client


def test_an_order_is_a_job_whose_partitions_are_cancelled_together(admin: ReassigndAdminClient) -> None:
    order = admin.order({foo(0): [4, 5, 6], foo(1): [5, 6, 1], foo(2): None})
    assert order.job == 1
    assert order.errors == {foo(0): None, foo(1): None, foo(2): NoReassignmentInProgressError}
    assert admin.cancel_topic("foo") == {foo(0): None, foo(1): None}
    admin.order({foo(3): [1, 2, 3]})
    assert admin.cancel_all() == {foo(3): None}
    assert admin.list_partition_reassignments() == {}


def test_a_cancel_of_nothing_returns_no_partition(admin: ReassigndAdminClient) -> None:
    assert (admin.cancel_topic("foo"), admin.cancel_all()) == ({}, {})
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.cancel_topic("nowhere")


def test_the_current_batch_is_the_step_in_flight(admin: ReassigndAdminClient) -> None:
    admin.set_limits(R=1)
    admin.order({foo(0): [4, 5, 6]})
    assert admin.current_batch() == {foo(0): Batch([1, 2, 3], [4, 1, 2, 3])}


def test_limits_are_set_for_the_cluster_and_removed(admin: ReassigndAdminClient) -> None:
    admin.set_limits(B=3, throttle=1_000_000)
    expected = {"R": None, "P": 1, "L": None, "C": None, "B": 3, "bytes": None, "throttle": 1_000_000}
    assert admin.limits() == expected
    admin.set_limits(B=None, throttle=None)
    assert admin.limits() == expected | {"B": None, "throttle": None}
    with pytest.raises(ValueError, match="unknown limit Q; known: R, P, L, C, B, bytes, throttle"):
        admin.set_limits(Q=1)


def test_a_plan_is_queued_and_a_job_rolled_back(admin: ReassigndAdminClient) -> None:
    admin.order({foo(0): [4, 5, 6]})
    assert admin.queue({foo(1): [5, 6, 1]}) == 2
    assert admin.job(2)["kind"] == "queue"
    assert admin.roll_back(1) == 3
    assert admin.job(3)["undoes"] == 1


def test_without_the_url_there_is_only_what_kafka_s_protocol_has(slow: Shell) -> None:
    with ReassigndAdminClient(bootstrap_servers=slow.server.bootstrap) as client:
        assert client.order({foo(0): [4, 5, 6]}).job == 1
        with pytest.raises(CommandError, match="give the url of the server"):
            client.queue({foo(1): [5, 6, 1]})
