"""Requests of clients that order: AlterPartitionReassignments (45), and plans that wait for their turn.

`alter_reassignments` and `queue_plan` validate each row by `check_row`, carry it out, and make a job of what
they have accepted. Of a partition that one request names more than once, the last valid row counts (see
`find_repeated`).
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence, Set
from functools import lru_cache
from itertools import accumulate, chain, islice

from common.error_codes import ErrorCode
from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic, Queue, RollBackJob, TopicOutcomes
from controller.model.cluster import Job, JobKind, Partition, Pending, Reassignment, Replicas, TopicPartition
from controller.model.errors import DONE, Outcome
from controller.model.replicas import display_name
from controller.reassignment.bulk import BulkCancels, FirstOrders, accept_all, new_reassignment
from controller.reassignment.phases import Phase, Trigger, fire, phase_of
from controller.reassignment.planning import awaits_election
from controller.reassignment.reassignments import NOTHING_TO_CANCEL, Order, follow, withdraw
from controller.state.state import Decision, State

Outcomes = list[tuple[int, Outcome]]


ROWS_PER_SLICE = 500
"""Other tasks run between two slices, which take a few milliseconds each."""

MANY_ROWS = 100
"""From this number of rows on, a request uses the bulk paths. Below, they save less than a millisecond."""

WHOLE_TOPIC = -1
"""Partition of the one row for a topic whose reassignments cannot be cancelled."""

_EMPTY = Outcome(message="")


def alter_reassignments(d: Decision, event: AlterReassignments) -> Iterator[None]:
    """Carry out each row independently. The reply has one outcome per row, in request order."""
    topics = _cancel_all(d) if event.topics is None else event.topics
    if event.deadline_ms is not None and d.now_ms >= event.deadline_ms:
        d.answer(event, (yield from refuse_all(topics, Outcome(ErrorCode.REQUEST_TIMED_OUT))))
        return
    repeated = yield from find_repeated(topics)
    job = open_job(d, JobKind.PLAN, event)
    request = (_LargeRequest if _is_large(d.state, event.topics) else _Request)(d, event, repeated, job)
    answers, room = [], ROWS_PER_SLICE
    whole: set[str] = set()
    for topic, requested in topics:
        outcomes: list[tuple[int, Outcome]] = []
        answers.append(TopicOutcomes(topic, outcomes))
        rows = _moving_rows(d, topic, whole) if requested is None else iter(requested)
        while taken := list(islice(rows, room)):
            request.carry_out(topic, [row for row in taken if row is not None], outcomes)
            room = room - len(taken) or ROWS_PER_SLICE
            if room == ROWS_PER_SLICE:
                yield
        if requested is None and not outcomes:
            outcomes.append((WHOLE_TOPIC, _nothing_in(d.state, topic)))
        # A topic without rows takes time too.
        room = room - 1 or ROWS_PER_SLICE
        if room == ROWS_PER_SLICE:
            yield
    if repeated:
        yield from repeated.carry_out(
            lambda key, row: request.fire(d.state.cluster.partitions[key.topic][key.partition], row.replicas)
        )
    outcome = DONE if topics else _EMPTY if event.topics is not None else NOTHING_TO_CANCEL
    d.answer(event, AlterReply(outcome, answers, seal_job(d, job)))


def refuse_all(topics: Sequence[AlterTopic], outcome: Outcome) -> Generator[None, None, AlterReply]:
    """Return a reply with the outcome at the top and on every row, as Kafka's clients expect it.

    Made in slices.
    """
    answers = []
    work = 0
    for topic, rows in topics:
        refused: list[tuple[int, Outcome]] = []
        answers.append(TopicOutcomes(topic, refused))
        work += 1
        for part in parts_of(rows or ()):
            refused += [(row.partition, outcome) for row in part]
            work += len(part)
        if work >= ROWS_PER_SLICE:
            work = 0
            yield
    return AlterReply(outcome, answers)


def check_row(
    state: State, topic: str, row: AlterRow, allow_factor_change: bool
) -> tuple[Outcome, Partition | None]:
    """Validate the row.

    Return the outcome, and the partition if it is valid. A topic being deleted accepts no targets.
    """
    known = state.cluster.topics.get(topic)
    if known is None or (known.deleting and row.replicas is not None):
        return _no_topic(topic), None
    partition = state.cluster.partition(topic, row.partition)
    if partition is None:
        missing = f"Unable to find partition {topic}:{row.partition}."
        return Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, missing), None
    if row.replicas is None:
        return DONE, partition
    outcome = state.cluster.check_replicas(row.replicas)
    if outcome is DONE and not allow_factor_change:
        outcome = check_factor(state, partition, row.replicas)
    return outcome, partition if outcome is DONE else None


def check_factor(state: State, partition: Partition, target: Replicas) -> Outcome:
    """Check that the target keeps the replication factor (KIP-860).

    The factor is that of the original if the partition is being reassigned.
    """
    reassignment = state.orders.reassignments.get(partition.key)
    factor = len(partition.replicas if reassignment is None else reassignment.original)
    if len(target) == factor:
        return DONE
    return Outcome(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        f"The replication factor is changed from {factor} to {len(target)}",
    )


class _Request:
    """Carries out the rows of one AlterPartitionReassignments request, each by the table of phases."""

    def __init__(
        self, d: Decision, event: AlterReassignments, repeated: "RepeatedRows | None", job: int
    ) -> None:
        self._d, self._event, self._repeated, self._job = d, event, repeated, job

    def carry_out(self, topic: str, rows: Sequence[AlterRow], outcomes: Outcomes) -> None:
        """Carry out these rows of the topic, and append their outcomes."""
        d, factor_may_change = self._d, self._event.allow_replication_factor_change
        for row in rows:
            outcome, partition = check_row(d.state, topic, row, factor_may_change)
            later = self._repeated and partition and self._repeated.defer(topic, row, outcomes, len(outcomes))
            if partition is not None and not later:
                outcome = self._carry_out(partition, row)
            outcomes.append((row.partition, outcome))
        d.rows += len(rows)

    def fire(self, partition: Partition, target: Replicas | None) -> Outcome:
        """Order the target, or cancel the reassignment."""
        if target is not None:
            return fire(self._d, partition, Trigger.ORDER, Order(target, self._job))
        outcome = fire(self._d, partition, Trigger.CANCEL)
        self._d.cancelled += outcome.ok
        return outcome

    def _carry_out(self, partition: Partition, row: AlterRow) -> Outcome:
        return self.fire(partition, row.replicas)


class _LargeRequest(_Request):
    """Carries out first orders, and cancels that end at once, in bulk (`controller.reassignment.bulk`)."""

    def __init__(
        self, d: Decision, event: AlterReassignments, repeated: "RepeatedRows | None", job: int
    ) -> None:
        super().__init__(d, event, repeated, job)
        self._first: FirstOrders = {}
        self._cancels = BulkCancels(d)

    def carry_out(self, topic: str, rows: Sequence[AlterRow], outcomes: Outcomes) -> None:
        """Carry out these rows of the topic, and append their outcomes."""
        taken = 0
        if not self._repeated and rows and rows[0].replicas is None:
            taken = self._cancels.take(topic, rows)
            outcomes += [(row.partition, DONE) for row in rows[:taken]]
            self._d.rows += taken
        super().carry_out(topic, rows[taken:], outcomes)
        self._flush(topic)

    def _carry_out(self, partition: Partition, row: AlterRow) -> Outcome:
        if self._takes(partition, row):
            return DONE
        self._flush(partition.topic)
        return super()._carry_out(partition, row)

    def _takes(self, partition: Partition, row: AlterRow) -> bool:
        """Return whether the row is carried out in bulk, or changes nothing. Rows keep their order."""
        state, key, target = self._d.state, partition.key, row.replicas
        known = state.orders.reassignments.get(key)
        if known is not None:
            if target is not None:
                return _is_same(state, known, target)
            accept_all(self._d, key.topic, self._job, self._first)
            return self._cancels.take(key.topic, (row,)) == 1
        if target is None or key in self._first or key in state.in_flight:
            return False
        if phase_of(state, key) is not Phase.IDLE:
            return False
        if target != partition.replicas or awaits_election(state, partition, target, self._job):
            if self._cancels.rows:
                self._cancels.carry_out(key.topic)
            order = (*key, partition.replicas, target, self._job, "", state.topic_id(key.topic))
            self._first[key] = new_reassignment(order)
        return True

    def _flush(self, topic: str) -> None:
        """Carry out what `_takes` has taken, all of this topic."""
        accept_all(self._d, topic, self._job, self._first)
        if self._cancels.rows:
            self._cancels.carry_out(topic)


def _is_large(state: State, topics: Sequence[AlterTopic] | None) -> bool:
    """Return whether a request is worth the bulk paths. A cancel of everything may be."""
    partitions = state.cluster.partitions
    sizes = (len(partitions.get(topic, ()) if rows is None else rows) for topic, rows in topics or ())
    return topics is None or any(size >= MANY_ROWS for size in accumulate(sizes))


def _nothing_in(state: State, topic: str) -> Outcome:
    """Return the outcome of a cancel of the topic that has found no reassignment."""
    return NOTHING_TO_CANCEL if topic in state.cluster.topics else _no_topic(topic)


def _is_same(state: State, known: Reassignment, target: Replicas) -> bool:
    """Return whether an order of the target changes nothing: the partition has that target already."""
    return known.target == target and not known.blocked and not state.orders.pending


@lru_cache(maxsize=16)
def _no_topic(topic: str) -> Outcome:
    """Return one shared outcome for all rows of the topic, which may be a million."""
    return Outcome(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {display_name(topic)}."
    )


def _cancel_all(d: Decision) -> list[AlterTopic]:
    """Return a cancel for each topic with a listed reassignment, external ones included."""
    state = d.state
    others = {key.topic for key in chain(state.gateway.external, state.orders.pending)}
    return [AlterTopic(topic, None) for topic in sorted(state.orders.reassigning.keys() | others)]


def _moving_rows(d: Decision, topic: str, whole: set[str]) -> Iterator[AlterRow | None]:
    """Yield a cancel for each listed partition of the topic, and None for the others.

    The check is made lazily.

    `whole` are the topics that the request has cancelled before: again, a cancel finds nothing but takes as
    long.
    """
    if topic in whole:
        return
    whole.add(topic)
    state = d.state
    if topic in state.orders.reassigning or state.gateway.external or state.orders.pending:
        for partition in state.cluster.partitions.get(topic, ()):
            key = partition.key
            listed = (
                key in state.orders.reassignments
                or key in state.gateway.external
                or key in state.orders.pending
            )
            yield AlterRow(partition.partition, None) if listed else None


def queue_plan(d: Decision, event: Queue) -> Iterator[None]:
    """Carry out each row independently. A moving partition is rolled back before its new target starts."""
    if not event.append and any(key not in d.state.gateway.external for key in waiting_entries(d.state)):
        busy = Outcome(
            ErrorCode.REASSIGNMENT_IN_PROGRESS,
            "A queued plan still has partitions that have not started. Wait for them, or append to it.",
        )
        d.answer(event, (yield from refuse_all(event.topics, busy)))
        return
    repeated = yield from find_repeated(event.topics)
    job = open_job(d, JobKind.QUEUE, event)
    answers = []
    for topic, rows in event.topics:
        outcomes: list[tuple[int, Outcome]] = []
        answers.append(TopicOutcomes(topic, outcomes))
        for row in rows or ():
            outcome, partition = check_row(d.state, topic, row, True)
            later = repeated and partition and repeated.defer(topic, row, outcomes, len(outcomes))
            if partition is not None and not later:
                outcome = _enqueue(d, partition, row.replicas, job)
            outcomes.append((row.partition, outcome))
            d.rows += 1
            if d.rows % ROWS_PER_SLICE == 0:
                yield
    if repeated:
        yield from repeated.carry_out(
            lambda key, row: _enqueue(
                d, d.state.cluster.partitions[key.topic][key.partition], row.replicas, job
            )
        )
    d.answer(event, AlterReply(DONE, answers, seal_job(d, job)))


def waiting_entries(state: State) -> Iterator[TopicPartition]:
    """Yield the queued partitions that have not started."""
    yield from state.orders.pending
    queues = {job.id for job in state.orders.jobs.values() if job.kind is JobKind.QUEUE and not job.ended_ms}
    if queues:
        for key, reassignment in state.orders.reassignments.items():
            partition = state.cluster.partition(*key)
            not_started = partition is not None and partition.replicas == reassignment.original
            if not_started and reassignment.job in queues and not reassignment.rolling_back:
                yield key


def _enqueue(d: Decision, partition: Partition, target: Replicas | None, job: int) -> Outcome:
    """Order the target, or record it as pending behind the partition's reassignment, which is rolled back.

    A move by another client is not changed; the target waits for its end.
    """
    if target is None:
        return DONE
    key, order = partition.key, Order(target, job)
    phase = phase_of(d.state, key)
    if phase is Phase.IDLE:
        return fire(d, partition, Trigger.ORDER, order)
    if phase is Phase.EXTERNAL:
        withdraw(d, key, job)
        d.put(Pending(*key, target, job, d.state.topic_id(key.topic)))
        return DONE
    outcome = fire(d, partition, Trigger.CANCEL, order)
    if outcome.ok:
        pending = Pending(*key, target, job, d.state.topic_id(key.topic))
        if phase_of(d.state, key) is Phase.IDLE:
            follow(d, pending)
        else:
            d.put(pending)
    return outcome


def open_job(d: Decision, kind: JobKind, request: AlterReassignments | Queue | RollBackJob) -> int:
    """Create an empty job and return its id.

    It becomes a record in `seal_job`, because a request may order nothing.
    """
    job = Job(
        d.state.orders.last_job + 1, kind, d.now_ms, request.requester.principal, request.requester.client_id
    )
    if isinstance(request, RollBackJob):
        job = job._replace(undoes=request.job, elects=d.state.orders.jobs[request.job].elects)
    else:
        job = job._replace(
            priority=request.priority,
            throttle=request.throttle,
            limits=request.limits,
            paused=request.paused,
        )
    if isinstance(request, AlterReassignments):
        job = job._replace(elects=request.elects, until_ms=request.until_ms)
    d.state.open_job(job)
    return job.id


def seal_job(d: Decision, number: int) -> int:
    """Record the job, which has all its partitions. Return its id; 0 if it has none and is dropped."""
    state = d.state
    total = state.orders.open.get(number, 0) + len(state.orders.finished.get(number, ()))
    if not total:
        state.drop_job(number)
        return 0
    ended = 0 if number in state.orders.open else d.now_ms
    d.put(state.orders.jobs[number]._replace(total=total, ended_ms=ended))
    return number


NUMBERS_PER_SLICE = 20_000
WORK_OF_TOPIC = 10
"""The work for a topic, as a number of rows."""


def find_repeated(topics: Sequence[AlterTopic]) -> Generator[None, None, "RepeatedRows | None"]:
    """Search the request in slices. Return its repeated rows, or None if it names each partition once.

    As in Kafka, the last valid row of a partition counts. Kafka's ZooKeeper controller keeps one row per
    partition. KRaft carries out the rows in order, so that each replaces the one before. Here only the last
    valid row is carried out, so that a job has each partition once, with one way back.
    """
    numbers: dict[str, list[int]] = {}
    work = 0
    for topic, rows in topics:
        for part in parts_of(rows) if rows and len(rows) > NUMBERS_PER_SLICE else (rows or (),):
            numbers.setdefault(topic, []).extend([row.partition for row in part])
            work += len(part) + WORK_OF_TOPIC
            if work >= NUMBERS_PER_SLICE:
                work = 0
                yield
    repeated: set[TopicPartition] = set()
    for topic, named in numbers.items():
        if len(named) > 1:
            yield from _count(topic, named, repeated)
        work += len(named)
        if work >= NUMBERS_PER_SLICE:
            work = 0
            yield
    return RepeatedRows(repeated) if repeated else None


def _count(topic: str, named: Sequence[int], repeated: set[TopicPartition]) -> Iterator[None]:
    """Add the partitions of the topic that are named more than once."""
    times = Counter(named[:NUMBERS_PER_SLICE])
    for start in range(NUMBERS_PER_SLICE, len(named), NUMBERS_PER_SLICE):
        yield
        times.update(named[start : start + NUMBERS_PER_SLICE])
    if len(times) < len(named):
        repeated.update(TopicPartition(topic, number) for number, count in times.items() if count > 1)


def parts_of(rows: Sequence[AlterRow]) -> Iterator[Sequence[AlterRow]]:
    """Yield the rows in parts of at most NUMBERS_PER_SLICE."""
    for start in range(0, len(rows), NUMBERS_PER_SLICE):
        yield rows[start : start + NUMBERS_PER_SLICE]


class RepeatedRows:
    """The partitions with more than one row, and the row of each that counts."""

    def __init__(self, partitions: Set[TopicPartition]) -> None:
        self.partitions = partitions
        self._last: dict[TopicPartition, tuple[AlterRow, Outcomes, int]] = {}

    def defer(self, topic: str, row: AlterRow, outcomes: Outcomes, index: int) -> bool:
        """Defer a valid row of a repeated partition until all rows are read. Its outcome belongs at `index`.

        Returns whether the row was deferred.
        """
        key = TopicPartition(topic, row.partition)
        if key not in self.partitions:
            return False
        self._last[key] = row, outcomes, index
        return True

    def carry_out(self, order: Callable[[TopicPartition, AlterRow], Outcome]) -> Iterator[None]:
        """Carry out the last valid row of each partition, and set its outcome."""
        for seen, (key, (row, outcomes, index)) in enumerate(self._last.items(), 1):
            outcomes[index] = row.partition, order(key, row)
            if seen % NUMBERS_PER_SLICE == 0:
                yield
