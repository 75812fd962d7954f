"""Numbers of partitions by state and by reason."""

from common.clock import ManualClock
from controller.messages.job_events import AlterRow, AlterTopic, Pause, Queue
from controller.model.replicas import TopicPartition
from server.progress.counts import SECONDS_PER_ROW, SMALL, JobCounts, Tally
from tests.builders import InMemoryController, partition


def many(count: int) -> InMemoryController:
    """Partitions of foo on brokers 1 to 3, of which one may move."""
    cluster = InMemoryController().with_partitions(*(partition(f"foo-{n}", [1, 2, 3]) for n in range(count)))
    cluster.with_limits(partitions=1).alter({f"foo-{n}": [4, 2, 3] for n in range(count)})
    return cluster


async def count(cluster: InMemoryController, counts: JobCounts | None = None) -> Tally:
    return await (counts or JobCounts(cluster.state, ManualClock())).tally({})


async def test_all_partitions_that_do_not_move_are_counted() -> None:
    tally = await count(many(1_200))
    assert tally.all_reasons() == {"limit P: 1 of 1 partition movements": 1_199}
    assert tally.moving == {1: 1}


async def test_partitions_are_counted_by_job() -> None:
    cluster = many(3)
    cluster.with_partitions(partition("bar-0", [1, 2, 3])).stop(6)
    cluster.alter({"bar-0": [1, 2, 6]})
    tally = await count(cluster)
    assert (tally.moving, tally.waiting) == ({1: 1}, {2: 1})
    assert tally.reasons[2] == {"offline: broker 6": 1}


async def test_a_paused_job_has_its_own_reason() -> None:
    cluster = many(3)
    cluster.do(Pause(1, True))
    assert (await count(cluster)).reasons == {1: {"job 1 is paused": 2}}


async def test_a_step_without_progress_counts_as_moving_and_has_a_reason() -> None:
    cluster = many(3)
    tally = await JobCounts(cluster.state).tally({TopicPartition("foo", 0): "it hangs"})
    assert (tally.moving[1], tally.stalled[1], tally.all_reasons()["it hangs"]) == (1, 1, 1)


async def test_entries_of_the_queue_are_counted() -> None:
    cluster = InMemoryController().with_partitions(partition("foo-0", [1, 2, 3])).with_limits(per_partition=1)
    cluster.alter({"foo-0": [4, 5, 6]})
    cluster.catch_up()
    cluster.do(Queue([AlterTopic("foo", [AlterRow(0, (1, 2, 5))])]))
    assert (await count(cluster)).reasons[2] == {"rolling back first": 1}


async def test_a_large_count_of_queued_partitions_is_shared_for_a_while() -> None:
    cluster, clock = many(SMALL + 2), ManualClock()
    counts = JobCounts(cluster.state, clock)
    await count(cluster, counts)
    cluster.alter({"foo-5": None})
    assert (await count(cluster, counts)).all_reasons().total() == SMALL + 1
    await clock.advance((SMALL + 2) * SECONDS_PER_ROW)
    assert (await count(cluster, counts)).all_reasons().total() == SMALL


async def test_partitions_that_move_are_counted_each_time() -> None:
    cluster = many(SMALL + 20)
    counts = JobCounts(cluster.state, ManualClock())
    await count(cluster, counts)
    cluster.with_limits(partitions=5)
    assert (await count(cluster, counts)).moving == {1: 5}


async def test_a_large_count_of_waiting_partitions_is_shared_for_a_while() -> None:
    names, clock = [f"foo-{n}" for n in range(SMALL + 2)], ManualClock()
    cluster = InMemoryController().with_partitions(*(partition(name, [1, 2, 3]) for name in names))
    cluster.stop(6)
    cluster.alter({name: [6, 2, 3] for name in names})
    counts = JobCounts(cluster.state, clock)
    first = await count(cluster, counts)
    assert first.waiting == {1: SMALL + 2}
    assert await count(cluster, counts) is first
    await clock.advance((SMALL + 2) * SECONDS_PER_ROW)
    assert await count(cluster, counts) is not first


async def test_a_pause_ends_the_use_of_a_tally() -> None:
    cluster = many(SMALL + 2)
    counts = JobCounts(cluster.state, ManualClock())
    await count(cluster, counts)
    cluster.do(Pause(None, True))
    assert (await count(cluster, counts)).all_reasons() == {"all reassignments are paused": SMALL + 1}


async def test_endings_are_in_the_order_of_the_glossary() -> None:
    cluster = many(3)
    cluster.alter({"foo-2": None})
    cluster.alter({"foo-1": [6, 5, 4]})
    cluster.settle()
    counted = await JobCounts(cluster.state).endings(cluster.state.orders.jobs[1])
    assert list(counted.items()) == [("done", 1), ("rolled back", 1), ("taken over", 1)]
