"""Topic metadata for Metadata and DescribeTopicPartitions."""

import pytest

from server.dispatch.authorizer import Operation
from server.dispatch.context import NOT_ASKED
from server.dispatch.topic_metadata import (
    describe_all,
    describe_by_id,
    describe_by_name,
    leader_error,
    offline_replicas,
)
from tests.builders import InMemoryController, partition
from tests.server.fakes import NOBODY, allowing, context

FOO_ID = b"foo".ljust(16, b"\0")
STATE = InMemoryController().with_partitions(partition("foo-0", [1]), partition("bar-0", [1])).state


def test_a_topic_is_found_by_name_and_by_id() -> None:
    found = describe_by_name("foo", context(12, STATE), operations=False)
    assert found == describe_by_id(FOO_ID, context(12, STATE), operations=False)
    assert (found.error, found.name, found.id, found.operations) == (0, "foo", FOO_ID, NOT_ASKED)
    assert [each.key for each in found.partitions] == [("foo", 0)]


def test_operations_of_a_topic_are_returned_on_request() -> None:
    asked = context(12, STATE, authorizer=allowing((Operation.DESCRIBE, "foo")))
    assert describe_by_name("foo", asked, operations=True).operations == 1 << Operation.DESCRIBE


@pytest.mark.parametrize(("name", "code"), [("nope", 3), ("no pe", 17), ("x" * 250, 17)])
def test_a_missing_topic_has_an_error(name: str, code: int) -> None:
    assert describe_by_name(name, context(12, STATE), operations=False)[:2] == (code, name)


def test_an_unknown_id_has_no_name() -> None:
    assert describe_by_id(b"?" * 16, context(12, STATE), operations=False)[:3] == (100, None, b"?" * 16)


def test_a_topic_without_describe_permission_is_denied_whether_it_exists_or_not() -> None:
    nobody = context(12, STATE, authorizer=NOBODY)
    assert describe_by_name("foo", nobody, operations=False)[:2] == (29, "foo")
    assert describe_by_name("nope", nobody, operations=False)[:2] == (29, "nope")
    assert describe_by_id(FOO_ID, nobody, operations=False)[:2] == (29, None)


def test_all_topics_with_describe_permission_are_listed() -> None:
    assert [each.name for each in describe_all(context(12, STATE), operations=False)] == ["foo", "bar"]
    assert describe_all(context(12, STATE, authorizer=NOBODY), operations=False) == []


def test_a_partition_without_a_leader_is_in_error() -> None:
    assert leader_error(partition("foo-0", [1])) == 0
    assert leader_error(partition("foo-0", [1], leader=-1)) == 5


def test_offline_replicas_are_those_on_dead_brokers() -> None:
    assert offline_replicas((1, 2, 3), {2}) == (1, 3)
