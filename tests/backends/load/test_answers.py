"""Answers are read the same, whether or not they have the form of the last one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.load.answers import Answers
from backends.load.layout import Layout, Topic
from backends.load.problems import Problems
from backends.load.wire import LOG_DIRS_VERSIONS, OFFSETS_VERSIONS, Refused
from protocol.apis import ApiKey
from protocol.codec.wire import codec
from protocol.frames import ResponseFrame
from protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LAYOUT = Layout([Topic("a", b"a", 3), Topic("b", b"b", 2)])
LED = np.array([1, 1, 2, 2, 1], np.int32)

partitions = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 1)), max_size=4)
answers = st.lists(st.tuples(st.sampled_from("abc"), partitions), max_size=3)


def answers_of(brokers: list[int] | None = None) -> Answers:
    found = Answers(Problems())
    found.update(LAYOUT, LED if brokers is None else np.array(brokers, np.int32))
    return found


def framed(version: int, response: Any) -> ResponseFrame:
    body = codec(type(response), version).encode(response)
    return ResponseFrame(ApiKey.DESCRIBE_LOG_DIRS, version, 0, memoryview(bytes(body)))


def log_dirs(version: int, rows: Any, disk: int = 0) -> ResponseFrame:
    topics = [
        DescribeLogDirsTopic(name, [DescribeLogDirsPartition(p, size, 0, bool(f)) for p, size, f in each])
        for name, each in rows
    ]
    return framed(version, DescribeLogDirsResponse(disk, 0, [DescribeLogDirsResult(0, "/d", topics, disk)]))


def offsets(version: int, rows: Any) -> ResponseFrame:
    topics = [
        ListOffsetsTopicResponse(
            name, [ListOffsetsPartitionResponse(p, 6 * error, -1, offset, 5) for p, offset, error in each]
        )
        for name, each in rows
    ]
    return framed(version, ListOffsetsResponse(0, topics))


def listed(sizes: Any) -> list[int]:
    assert not isinstance(sizes, Refused)
    numbers: list[int] = sizes.tolist()
    return numbers


@given(answers, answers, st.sampled_from(LOG_DIRS_VERSIONS))
def test_sizes_do_not_depend_on_the_answers_before(first: Any, second: Any, version: int) -> None:
    kept = answers_of()
    for rows in (first, second, first, first):
        fresh = answers_of()
        frame = log_dirs(version, rows)
        assert listed(kept.sizes(1, frame)) == listed(fresh.sizes(1, frame))
        assert kept.replicas[1].tolist() == fresh.replicas[1].tolist()


@given(answers, answers, st.sampled_from(OFFSETS_VERSIONS))
def test_offsets_do_not_depend_on_the_answers_before(first: Any, second: Any, version: int) -> None:
    kept = answers_of()
    for rows in (first, second, first, first):
        frame = offsets(version, rows)
        assert listed(kept.offsets(1, 0, frame)) == listed(answers_of().offsets(1, 0, frame))


@pytest.mark.parametrize("version", LOG_DIRS_VERSIONS)
def test_an_answer_with_other_figures_is_not_walked(version: int) -> None:
    known = answers_of()
    found = [
        listed(
            known.sizes(1, log_dirs(version, [("b", [(1, size, 0)]), ("a", [(0, 9, 0), (2, 7, 0)])], size))
        )
        for size in (5, 6)
    ]
    assert found == [[9, -1, 5], [9, -1, 6]]
    assert known.walked == 1


def test_a_replica_that_is_copied_to_another_directory_makes_no_answer_be_walked() -> None:
    known = answers_of()
    frames = [log_dirs(4, [("a", [(0, 9, 0), (1, copied, 1)])]) for copied in (1, 2)]
    assert [listed(known.sizes(1, frame)) for frame in frames] == [[9, -1, -1], [9, -1, -1]]
    assert known.walked == 1
    assert listed(known.sizes(1, log_dirs(4, [("a", [(0, 9, 0), (1, 2, 0)])]))) == [9, 2, -1]
    assert known.walked == 2


def test_the_first_and_the_last_offsets_have_one_form() -> None:
    known = answers_of()
    rows = [("a", [(0, 1, 0), (1, 2, 1)]), ("b", [(1, 3, 0)])]
    later = [("a", [(0, 11, 1), (1, 12, 0)]), ("b", [(1, 13, 0)])]
    assert listed(known.offsets(1, 0, offsets(9, rows))) == [1, -1, 3]
    assert listed(known.offsets(1, 0, offsets(9, later))) == [-1, 12, 13]
    assert known.walked == 1


def test_another_leader_makes_an_answer_be_walked() -> None:
    known, frame = answers_of(), log_dirs(4, [("a", [(0, 5, 0), (1, 6, 0)])])
    assert listed(known.sizes(1, frame)) == [5, 6, -1]
    known.update(LAYOUT, np.array([2, 1, 2, 2, 1], np.int32))
    assert listed(known.sizes(1, frame)) == [6, -1]


def test_one_replica_in_two_directories_is_a_problem_of_every_round() -> None:
    problems = Problems()
    known = Answers(problems)
    known.update(LAYOUT, LED)
    for _ in range(2):
        problems.begin()
        assert listed(known.sizes(1, log_dirs(4, [("a", [(0, 5, 0), (0, 6, 0), (1, 7, 0)])]))) == [-1, 7, -1]
        assert problems.lines() == [
            "broker 1: one replica is in two log directories: its bytes in are unknown"
        ]


def test_a_broker_that_leads_nothing_holds_replicas_of_new_topics() -> None:
    known, frame = answers_of(), log_dirs(4, [("a", [(0, 5, 0)]), ("new", [(0, 6, 0)])])
    known.sizes(3, frame)
    assert known.replicas[3].tolist() == [0]
    known.update(Layout([*LAYOUT.topics, Topic("new", b"n", 1)]), np.array([1, 1, 2, 2, 1, 1], np.int32))
    known.sizes(3, frame)
    assert known.replicas[3].tolist() == [0, 5]


def test_topics_that_come_and_go_leave_the_replicas_of_others() -> None:
    known = answers_of()
    known.sizes(1, log_dirs(4, [("a", [(1, 5, 0)]), ("b", [(0, 6, 0)])]))
    layout = Layout([Topic("aa", b"aa", 2), Topic("b", b"b", 2)])
    known.update(layout, np.array([1, 1, 1, 1], np.int32))
    assert known.replicas[1].tolist() == [2]
    known.forget({1})
    assert known.replicas == {}


def test_what_a_leader_does_not_tell_is_a_problem() -> None:
    problems = Problems()
    known = Answers(problems)
    known.update(LAYOUT, LED)
    known.sizes(1, log_dirs(4, [("a", [(0, 5, 0)])]))
    known.offsets(1, 0, offsets(9, [("a", [(0, 5, 0)])]))
    assert problems.lines() == [
        "broker 1: it tells no sizes of some logs that it leads: their bytes in are unknown",
        "broker 1: it tells no offsets of some partitions that it leads: their bytes in are unknown",
    ]
