"""Waits and assertions about the reassignments of an embedded cluster."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence

from common.clock import Clock, ManualClock
from common.wording import some
from controller.model.cluster import Partition, TopicPartition
from controller.state.state import State
from controller.views.jobs import waiting_reason
from controller.views.reassignments import Ongoing, ongoing

POLL_SECONDS = 0.002
ADVANCE_SECONDS = 1.0
"""How far a manual clock is advanced between two looks."""


async def wait_until_done(
    state: State,
    clock: Clock,
    topics: Iterable[str] = (),
    seconds: float = 30.0,
    *,
    is_stuck: Callable[[int], bool],
) -> None:
    """Return when no reassignment of the topics is left; without topics, none at all.

    `seconds` are those of the cluster's clock: a manual clock is advanced. `is_stuck` tells whether the rate
    of a broker is 0. Raises TimeoutError, which names the partitions that are left and why they wait, and
    ValueError when a topic does not exist at the call.
    """
    topics = tuple(topics)
    _check_exist(state, topics)
    chosen, end = dict.fromkeys(topics) or None, clock.now() + seconds
    while left := list(ongoing(state, chosen)):
        if clock.now() >= end:
            raise TimeoutError(f"after {seconds:g} s, {_described(state, left, is_stuck)}")
        if isinstance(clock, ManualClock):
            await clock.advance(ADVANCE_SECONDS)
        # Brokers and controller exchange requests over sockets, for which a manual clock does not wait.
        await asyncio.sleep(POLL_SECONDS)


async def expect_moving(
    state: State,
    key: TopicPartition,
    adding: Sequence[int] | None = None,
    removing: Sequence[int] | None = None,
    seconds: float = 5.0,
) -> Partition:
    """Wait until a step of the partition is in flight, `seconds` of real time at most; return the partition.

    `adding` and `removing` are the brokers of this step in any order; None stands for any. Raises
    AssertionError, which says what the partition does instead.
    """
    end = time.monotonic() + seconds
    while True:
        now = state.cluster.partition(*key)
        if now is not None and now.moving and _fits(now, adding, removing):
            return now
        if time.monotonic() >= end:
            raise AssertionError(f"expected a step of {key} in flight, but {_actual(state, key)}")
        await asyncio.sleep(POLL_SECONDS)


def _check_exist(state: State, topics: Iterable[str]) -> None:
    """Refuse unknown topics: a wait for a misspelled one would end at once."""
    if unknown := [topic for topic in topics if topic not in state.cluster.topics]:
        known = some([*state.cluster.topics]) or "none"
        raise ValueError(f"there is no topic {unknown[0]!r}: there are {known}")


def _fits(now: Partition, adding: Sequence[int] | None, removing: Sequence[int] | None) -> bool:
    pairs = ((adding, now.adding), (removing, now.removing))
    return all(wanted is None or sorted(wanted) == sorted(actual) for wanted, actual in pairs)


def _actual(state: State, key: TopicPartition) -> str:
    now = state.cluster.partition(*key)
    if now is None:
        return "there is no such partition"
    if now.moving:
        return f"it adds {list(now.adding)} and removes {list(now.removing)}"
    left = list(ongoing(state, {key.topic: [key.partition]}))
    return _described(state, left) if left else f"it rests at {list(now.replicas)}"


def _described(
    state: State, left: Sequence[Ongoing], is_stuck: Callable[[int], bool] = lambda _: False
) -> str:
    """Return the rows with the reasons why they wait."""
    count = "1 partition is" if len(left) == 1 else f"{len(left)} partitions are"
    return f"{count} not done: {some([_row(state, row, is_stuck) for row in left], separator='; ')}"


def _row(state: State, row: Ongoing, is_stuck: Callable[[int], bool]) -> str:
    key = TopicPartition(row.topic, row.partition)
    partition, reassignment = state.cluster.partition(*key), state.orders.reassignments.get(key)
    if partition is not None and partition.moving:
        why = _copying(state, partition, is_stuck)
    else:
        why = "queued" if reassignment is None else waiting_reason(state, reassignment)
    target = "" if reassignment is None else f", target {list(reassignment.target)}"
    return f"{key} is at {list(row.current)}{target} ({why})"


def _copying(state: State, partition: Partition, is_stuck: Callable[[int], bool]) -> str:
    offline = [broker for broker in partition.adding if broker not in state.cluster.live]
    if offline:
        return f"broker {offline[0]} is offline"
    stuck = [
        broker
        for broker in (*partition.adding, partition.leader)
        if broker in state.cluster.live and is_stuck(broker)
    ]
    note = f"; the rate of broker {stuck[0]} is 0" if stuck else ""
    return f"copies to {list(partition.adding)}{note}"
