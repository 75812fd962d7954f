"""The store on the state topic, with the log of the simulation."""

import asyncio
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from backends.state_topic.store import ENCODED_PER_SLICE
from controller.model.cluster import Change, Deleted, Paused, Pending, Record, TopicPartition
from tests.backends.state_topic.builders import RecordedLog, opened


async def committed(log: RecordedLog, *commits: Sequence[Change]) -> list[Record]:
    """Commit at once, in order; return the records that the next instance loads."""
    async with opened(log) as store:
        await asyncio.gather(*[store.commit(changes) for changes in commits])
    async with opened(log) as store:
        return list(store.load())


async def test_a_large_commit_is_atomic_and_later_commits_follow_it() -> None:
    many = [Pending("foo", number, (1,), 1) for number in range(10 * ENCODED_PER_SLICE)]
    last = Deleted(Pending, TopicPartition("foo", 0))
    assert await committed(RecordedLog(), [Paused(True)], many, [last]) == [*many[1:], Paused(True)]


keys = st.tuples(st.sampled_from(["foo", "bar"]), st.integers(0, 2))
puts = st.builds(lambda key, target: Pending(key[0], key[1], (target,), 1), keys, st.integers(0, 9))


@settings(max_examples=50)
@given(st.lists(st.lists(puts, min_size=1, max_size=4), min_size=1, max_size=6), st.integers(0, 5))
async def test_a_new_instance_goes_on_where_the_last_one_stopped(
    commits: list[list[Pending]], cut: int
) -> None:
    log, together = RecordedLog(), RecordedLog()
    await committed(log, *commits[:cut])
    assert await committed(log, *commits[cut:]) == await committed(together, *commits)
