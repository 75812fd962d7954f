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


def test_each_record_has_the_key_of_its_kind() -> None:
    moving = partition("foo-0", (1, 2))
    assert moving.key == Reassignment("foo", 0, (1,), (2,)).key == TopicPartition("foo", 0)
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
