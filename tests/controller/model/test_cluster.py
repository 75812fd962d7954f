from common.error_codes import ErrorCode
from controller.messages.job_events import AlterRow
from controller.model.cluster import (
    Broker,
    Config,
    ControllerEpoch,
    Partition,
    Reassignment,
    ResourceType,
    Topic,
    TopicPartition,
    row_maker,
)
from controller.model.errors import DONE, Outcome
from controller.model.jobs import Ending, Finished, Job, JobKind, Pending
from tests.builders import key, partition

MOVING = partition("foo-0", (4, 1, 2, 3), adding=(4,), removing=(2, 3), leader=1, isr=(1, 2, 3))


def test_a_partition_is_named_as_in_kafka() -> None:
    assert str(TopicPartition("a-b", 7)) == "a-b-7"


def test_during_a_step_current_is_the_list_before_it_and_next_the_one_after() -> None:
    assert MOVING.moving
    assert MOVING.current == (1, 2, 3)
    assert MOVING.next == (4, 1)


def test_without_a_step_current_and_next_are_the_replicas() -> None:
    healthy = partition("foo-0", (1, 2, 3))
    assert not healthy.moving
    assert healthy.current == healthy.next == (1, 2, 3)


def test_an_adding_replica_never_makes_a_partition_under_replicated() -> None:
    assert not MOVING.under_replicated


def test_a_lost_original_is_not_masked_by_an_adding_replica_in_sync() -> None:
    assert MOVING._replace(isr=(1, 2, 4)).under_replicated


def test_a_reassignment_to_its_original_is_a_rollback() -> None:
    there = Reassignment("foo", 0, original=(1, 2, 3), target=(4, 5, 6))
    assert not there.rolling_back
    assert there._replace(target=(1, 2, 3)).rolling_back
    assert not there._replace(target=(3, 2, 1)).rolling_back


def test_each_record_has_the_key_of_its_kind() -> None:
    assert MOVING.key == Reassignment("foo", 0, (1,), (2,)).key == TopicPartition("foo", 0)
    assert Partition("foo", 3, (1,), (1,), 1).key == ("foo", 3)
    assert Topic("foo", bytes(16)).key == "foo"
    assert Broker(7, "localhost", 9092, None, 1).key == 7
    assert Config(ResourceType.TOPIC, "foo", "k", "v").key == (ResourceType.TOPIC, "foo", "k")
    assert ControllerEpoch(3).key == ()


def test_a_row_maker_returns_the_same_as_the_constructor() -> None:
    made = row_maker(AlterRow)((3, (1, 2)))
    assert (type(made), made) == (AlterRow, AlterRow(3, (1, 2)))


def test_the_records_of_jobs_have_job_and_partition_as_key() -> None:
    assert Job(7, JobKind.PLAN, 0, "User:a", None).key == 7
    assert Finished(7, "foo", 0, (1,), (2,), Ending.DONE).key == (7, key("foo-0"))
    assert Pending("foo", 0, (1,), 7).key == key("foo-0")


def test_an_outcome_without_an_error_is_done() -> None:
    assert DONE.ok
    assert not Outcome(ErrorCode.INVALID_REQUEST, "why").ok


def test_the_text_of_an_outcome_is_its_message_or_the_name_of_its_error() -> None:
    assert Outcome(ErrorCode.INVALID_REQUEST, "why").text == "why"
    assert Outcome(ErrorCode.INVALID_REQUEST).text == "INVALID_REQUEST"
