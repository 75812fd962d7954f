"""What clients have ordered, and how far it is.

Jobs and their throttles, reassignments, queued targets, and steps in flight.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TypeVar

from controller.model.cluster import Ending, Finished, Job, Pending, Reassignment, TopicPartition

_topic_of, _job_of, _blocked_of = attrgetter("topic"), attrgetter("job"), attrgetter("blocked")

FinishedRows = Mapping[TopicPartition, Finished]

K = TypeVar("K")


@dataclass(eq=False, slots=True)
class Listing:
    """When what ListPartitionReassignments shows has changed: keys for caches."""

    revision: int = 0
    """Grows when what is shown may have changed."""
    by_topic: dict[str, int] = field(default_factory=dict)
    """The revision of the last change to what is shown of a topic."""

    def changed(self, topic: str) -> None:
        """What is shown of the topic may have changed."""
        self.revision += 1
        self.by_topic[topic] = self.revision

    def all_changed(self, topics: Iterable[str]) -> None:
        """As `changed`, in one revision."""
        self.revision += 1
        for topic in topics:
            self.by_topic[topic] = self.revision

    def forget(self, topic: str) -> None:
        """The topic was deleted."""
        self.by_topic.pop(topic, None)


@dataclass(eq=False, slots=True)
class Orders:
    """The records of jobs and reassignments by key, with counters over them."""

    listing: Listing
    reassignments: dict[TopicPartition, Reassignment] = field(default_factory=dict)
    """In order of acceptance, as are `jobs`."""
    reassigning: Counter[str] = field(default_factory=Counter)
    """Number of a topic's partitions with a reassignment, in flight or not. Topics without one are absent."""
    pending: dict[TopicPartition, Pending] = field(default_factory=dict)
    waiting: dict[TopicPartition, str] = field(default_factory=dict)
    """Reassignments whose next step cannot start, with the reason to show to users."""
    jobs: dict[int, Job] = field(default_factory=dict)
    last_job: int = 0
    """Ids are never used twice, because the newest job is always kept."""
    open: Counter[int] = field(default_factory=Counter)
    """Number of a job's partitions that have not ended, pending ones included. Jobs without one are
    absent."""
    finished: dict[int, dict[TopicPartition, Finished]] = field(default_factory=dict)
    """By job, in the order in which the partitions ended."""
    endings: dict[int, Counter[Ending]] = field(default_factory=dict)
    """Number of a job's partitions by ending. Jobs without one are absent."""
    paused: bool = False
    deferred: dict[int, list[TopicPartition]] = field(default_factory=dict)
    """By paused job: its partitions whose step had capacity during the pause."""

    # ---- reassignments -------------------------------------------------------------------------------------

    def put_reassignment(self, record: Reassignment) -> bool:
        """Insert or replace the reassignment. Return whether it is the partition's first."""
        key = record.key
        before = self.reassignments.get(key)
        if before is None:
            self.reassigning[record.topic] += 1
        else:
            count_down(self.open, before.job)
        self.open[record.job] += 1
        self.reassignments[key] = record
        self.waiting.pop(key, None)
        if record.blocked:
            self.waiting[key] = record.blocked
        self.listing.changed(record.topic)
        return before is None

    def put_first(self, topic: str, job: int, records: Mapping[TopicPartition, Reassignment]) -> None:
        """As `put_reassignment` of each, for partitions of one topic without one that one job orders."""
        self.reassignments.update(records)
        self.reassigning[topic] += len(records)
        self.open[job] += len(records)
        self.listing.changed(topic)

    def load_reassignments(self, records: Sequence[Reassignment]) -> None:
        """As `put_reassignment` of each, in less time."""
        known, new = self.reassignments, tuple.__new__
        by_key = {new(TopicPartition, (record[0], record[1])): record for record in records}
        repeated = len(by_key) < len(records) or not known.keys().isdisjoint(by_key)
        if repeated or any(map(_blocked_of, records)):
            for record in records:
                self.put_reassignment(record)
            return
        known.update(by_key)
        topics = Counter(map(_topic_of, records))
        self.reassigning.update(topics)
        self.open.update(Counter(map(_job_of, records)))
        self.listing.all_changed(topics)

    def delete_reassignment(self, key: TopicPartition) -> None:
        """Remove the reassignment, which exists."""
        count_down(self.open, self.reassignments.pop(key).job)
        self.waiting.pop(key, None)
        count_down(self.reassigning, key.topic)
        self.listing.changed(key.topic)

    def end_all(self, topic: str, keys: Sequence[TopicPartition], ended: Mapping[int, FinishedRows]) -> None:
        """As `delete_reassignment` of each, all of this topic, and `put_finished` of their ends by job."""
        for job, count in Counter(map(_job_of, map(self.reassignments.pop, keys))).items():
            count_down(self.open, job, count)
        for key in keys if self.waiting else ():
            self.waiting.pop(key, None)
        count_down(self.reassigning, topic, len(keys))
        self.listing.changed(topic)
        for job, rows in ended.items():
            self._put_ends(job, rows)

    def wait(self, key: TopicPartition, reason: str) -> None:
        """The next step of the partition cannot start."""
        self.waiting[key] = reason

    def wait_no_more(self, key: TopicPartition) -> None:
        """The reason to wait may be gone."""
        self.waiting.pop(key, None)

    def put_pending(self, record: Pending) -> None:
        """Insert or replace the queued target."""
        before = self.pending.get(record.key)
        if before is not None:
            count_down(self.open, before.job)
        self.open[record.job] += 1
        self.pending[record.key] = record
        self.listing.changed(record.topic)

    def delete_pending(self, key: TopicPartition) -> None:
        """Remove the queued target, which exists."""
        count_down(self.open, self.pending.pop(key).job)
        self.listing.changed(key.topic)

    def count_moves(self, job: int, change: int) -> None:
        """Count moves between log directories among what has not ended of the job."""
        if change > 0:
            self.open[job] += change
        elif change:
            count_down(self.open, job, -change)

    # ---- jobs ----------------------------------------------------------------------------------------------

    def open_job(self, job: Job) -> None:
        """Add a job that is no record yet. `put_job` or `drop_job` follows in the same decision."""
        self.jobs[job.id] = job

    def drop_job(self, number: int) -> None:
        """Remove a job that is no record: it has no partitions."""
        del self.jobs[number]

    def put_job(self, record: Job) -> None:
        """Insert or replace the job."""
        self.jobs[record.id] = record
        self.last_job = max(self.last_job, record.id)

    def delete_job(self, number: int) -> None:
        """Remove the job, which exists."""
        del self.jobs[number]
        if number == self.last_job:
            self.last_job = max(self.jobs, default=0)

    def set_paused(self, paused: bool) -> None:
        """Pause or resume everything."""
        self.paused = paused

    def defer(self, job: int, key: TopicPartition) -> None:
        """Remember a partition of a paused job whose step had capacity."""
        self.deferred.setdefault(job, []).append(key)

    def take_deferred(self, job: int) -> Sequence[TopicPartition]:
        """Remove and return the partitions of a job that `defer` has remembered."""
        return self.deferred.pop(job, ())

    def put_finished(self, record: Finished) -> None:
        """Insert or replace the ended part of a partition in a job."""
        job, key = record.job, TopicPartition(record.topic, record.partition)
        rows, counted = self.finished.setdefault(job, {}), self.endings.setdefault(job, Counter())
        if key in rows:
            count_down(counted, rows[key].ending)
        rows[key] = record
        counted[record.ending] += 1

    def load_finished(self, records: Iterable[Finished]) -> None:
        """As `put_finished` of each, in a third of the time."""
        for job, rows in groupby(records, itemgetter(0)):
            self._put_ends(job, {tuple.__new__(TopicPartition, row[1:3]): row for row in rows})

    def delete_finished(self, key: tuple[int, TopicPartition]) -> None:
        """Remove the ended part, which exists."""
        job, partition = key
        count_down(self.endings[job], self.finished[job].pop(partition).ending)
        if not self.finished[job]:
            del self.finished[job], self.endings[job]

    def _put_ends(self, job: int, rows: FinishedRows) -> None:
        known, counted = self.finished.setdefault(job, {}), self.endings.setdefault(job, Counter())
        for key in () if known.keys().isdisjoint(rows) else known.keys() & rows:
            count_down(counted, known[key].ending)
        known.update(rows)
        counted.update([row.ending for row in rows.values()])


def count_down(counts: Counter[K], key: K, by: int = 1) -> None:
    """Subtract from the count of the key, and remove a key whose count is 0."""
    left = counts[key] - by
    if left:
        counts[key] = left
    else:
        del counts[key]


MOVING = 1
"""The partition has replicas that are being added or removed."""
AT_UPSTREAM = 2
"""The upstream carries out a step of ours. If the step only reorders replicas, the partition is not `MOVING`.
"""


@dataclass(eq=False, slots=True)
class JobRates:
    """The throttles of open jobs, each in bytes per second."""

    rates: dict[int, int] = field(default_factory=dict)
    """By job: the throttle of each open one that has one."""

    def follow_job(self, job: Job) -> None:
        """Take the throttle of the job while it is open."""
        if job.throttle and not job.ended_ms:
            self.rates[job.id] = job.throttle
        else:
            self.rates.pop(job.id, None)

    def forget_job(self, number: int) -> None:
        """The job was deleted."""
        self.rates.pop(number, None)


class StepsInFlight:
    """The partitions with a step in flight, by topic.

    `State` and `GatewayState` update it with each record that changes a partition or a step.
    """

    def __init__(self) -> None:
        self.by_topic: dict[str, dict[int, int]] = {}
        """Topic -> partition -> why its step is in flight (MOVING, AT_UPSTREAM). Topics without a step are
        absent."""
        self.changed_topics: set[str] = set()
        """Topics in which a step began, changed or ended, or configs changed, since the throttle was
        adjusted."""
        self.arriving: Mapping[int, Mapping[str, int]] | None = None
        """Bytes on their way by broker and log directory, of replicas whose directory is known. None after a
        change, until they are added up again."""
        self._count = 0

    def __contains__(self, key: TopicPartition) -> bool:
        return key[1] in self.by_topic.get(key[0], ())

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[TopicPartition]:
        for topic, numbers in list(self.by_topic.items()):
            for number in sorted(numbers):
                yield TopicPartition(topic, number)

    def note(self, topic: str, number: int, reason: int, holds: bool) -> None:
        """Set whether the reason applies to the partition. A step is in flight while at least one does."""
        numbers = self.by_topic.get(topic)
        before = numbers.get(number, 0) if numbers else 0
        after = before | reason if holds else before & ~reason
        if not before and not after:
            return
        self.changed_topics.add(topic)
        self.arriving = None
        self._count += bool(after) - bool(before)
        if numbers is None:
            numbers = self.by_topic[topic] = {}
        numbers[number] = after
        if not after:
            del numbers[number]
            if not numbers:
                del self.by_topic[topic]

    def keep_arriving(self, added_up: Mapping[int, Mapping[str, int]] | None) -> None:
        """Keep `arriving` until a step begins, changes or ends; None after sizes were measured."""
        self.arriving = added_up

    def take_changed(self) -> set[str]:
        """Empty `changed_topics`, and return what was in it."""
        changed, self.changed_topics = self.changed_topics, set()
        return changed

    def look_again(self, topics: Iterable[str]) -> None:
        """Adjust the throttle of these topics as if something had changed in them."""
        self.changed_topics.update(topics)

    def configs_changed(self, topic: str) -> None:
        """Note that someone changed configs of the topic. Lists of throttled replicas may be among them."""
        if topic in self.by_topic:
            self.changed_topics.add(topic)

    def end_moves(self, topic: str, numbers: Iterable[int]) -> None:
        """As `note` of each, for partitions of the topic for which MOVING does not apply any more."""
        held = self.by_topic.get(topic)
        if not held:
            return
        self.arriving = None
        before = len(held)
        for number in numbers:
            why = held.pop(number, 0)
            if why:
                self.changed_topics.add(topic)
            if why & ~MOVING:
                held[number] = why & ~MOVING
        self._count -= before - len(held)
        if not held:
            del self.by_topic[topic]

    def at_upstream(self) -> list[TopicPartition]:
        """Return the partitions whose step the upstream carries out for us."""
        topics = self.by_topic.items()
        return [
            TopicPartition(topic, n) for topic, ns in topics for n, why in ns.items() if why & AT_UPSTREAM
        ]
