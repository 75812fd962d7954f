"""The store on the state topic, with the log of the simulation."""

import asyncio
from collections.abc import Sequence
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from backends.state_topic.candidate import Term
from backends.state_topic.history import History
from backends.state_topic.lease import Lease
from backends.state_topic.ports import Timings
from backends.state_topic.store import ENCODED_PER_SLICE, StateTopicStore
from backends.state_topic.writer import TermWriter
from common.clock import RealClock
from controller.model.cluster import Change, Deleted, Paused, Pending, Record, TopicPartition
from protocol.record_batch import BatchRecord, Producer
from tests.backends.records import EVERY_KIND
from tests.backends.state_topic.builders import Log, ScriptedLog, a_claim

TIMINGS = Timings(6.0)


class RecordedLog(ScriptedLog):
    """Keeps the batches in a log."""

    def __init__(self) -> None:
        super().__init__()
        self.log = Log().claim(a_claim())

    async def append(
        self,
        records: Sequence[BatchRecord],
        producer: Producer,
        sequence: int,
        *,
        transactional: bool = False,
    ) -> None:
        self.log.add(*records, producer=producer, sequence=sequence, attributes=0x10 if transactional else 0)

    async def end_transaction(self, producer: Producer) -> None:
        self.log.marker(commit=True)

    def history(self) -> History:
        history = History()
        history.apply(self.log.batches)
        return history


async def committed(log: RecordedLog, *commits: Sequence[Change]) -> list[Record]:
    """Commit at once, in order; return the records that the next instance loads."""
    lease = Lease(RealClock(), TIMINGS.lease)
    lease.renew(RealClock().now())
    writer = TermWriter(log, Term(a_claim(), 1, 0.0, -inf), lease, TIMINGS, RealClock())
    store = StateTopicStore(log.history(), writer)
    done = [store.commit(changes) for changes in commits]
    running = asyncio.create_task(writer.run())
    await asyncio.gather(*done)
    writer.close()
    await running
    return list(StateTopicStore(log.history(), writer).load())


async def test_records_are_loaded_by_the_next_instance() -> None:
    assert set(await committed(RecordedLog(), EVERY_KIND)) == set(EVERY_KIND)


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
