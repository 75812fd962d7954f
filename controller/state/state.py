"""The state of the controller: all records, and counters and indexes derived from them.

Only the driver changes it, through `Decision.put` and `delete`. Between two decisions it is consistent, so
that others may read it then. Loading the store puts every record, so the state after a restart equals the
state before.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, Protocol, TypeVar, cast

from controller.messages.effects import Effect
from controller.messages.event import Event, Reply
from controller.model.audit import AuditEntry, AuditTrim
from controller.model.cluster import (
    NO_ID,
    NO_LEADER,
    Acl,
    Broker,
    Change,
    Config,
    ControllerEpoch,
    Deleted,
    Ending,
    Finished,
    Job,
    Lease,
    Partition,
    Paused,
    Pending,
    Reassignment,
    Record,
    Replicas,
    ResourceType,
    ScramCredential,
    Topic,
    TopicPartition,
    UpstreamStep,
)
from controller.model.configs import MIN_ISR, PACE, RATES, SCHEDULE, THROTTLE
from controller.pace.history import History
from controller.pace.pacer import Pacer
from controller.pace.readings import FIRST_WINDOW, PaceSettings, pace_settings
from controller.schedule.openings import ANY_TIME, STALE, Opening
from controller.schedule.periods import Schedule, read_schedule
from controller.scheduling.backlog import Backlog
from controller.scheduling.in_flight import MOVING
from controller.scheduling.limits import BYTES_CONFIG, UNLIMITED_BYTES, Windows, limits_of
from controller.state.access import AclIndex
from controller.state.gateway import UpstreamState
from controller.state.settings import CLUSTER_DEFAULT

_topic_of, _job_of, _blocked_of = attrgetter("topic"), attrgetter("job"), attrgetter("blocked")

FinishedRows = Mapping[TopicPartition, Finished]

Handler = Callable[[Any], None]
"""Takes a record, or the key of a deleted one, of the class that it is registered for."""


class StepExecutor(Protocol):
    """Carries out the steps of partitions.

    `preferred` is the broker that should lead as soon as it can (KIP-435).
    """

    ELECTS: bool
    """Whether it changes leaders itself, at once, or requests elections."""

    def begin(
        self, d: "Decision", partition: Partition, following: Replicas, target: Replicas, preferred: int
    ) -> bool:
        """Start the step to `following`, or replace the step in flight; True when it is complete already."""
        ...

    def advance(self, d: "Decision", partition: Partition, target: Replicas, preferred: int) -> bool:
        """Complete the step in flight if possible; True if so."""
        ...

    def can_turn(self, state: "State", partition: Partition, kept: Replicas) -> bool:
        """Whether the step in flight can end at `kept`, the list before it with some of the added replicas.

        The end must not drop a replica that is in sync.
        """
        ...

    def obstacle(self, state: "State", partition: Partition, following: Replicas) -> str:
        """Return why the next step, to `following`, cannot start now; empty when it can."""
        ...

    def ended(self, d: "Decision", key: TopicPartition) -> None:
        """Clean up after the partition's reassignment has ended."""
        ...


@dataclass(frozen=True, slots=True)
class Mode:
    """What a mode differs in. The composition root chooses one of `controller.modes`."""

    executor: StepExecutor

    is_gateway: bool = False
    """A running Kafka carries out the steps and owns topics, partitions and brokers; its health counts."""
    grows_while_moving: bool = True
    """A topic that moves may get more partitions. Kafka's ZooKeeper controller refuses that."""
    drops_when_back: bool = True
    """A broker that was down drops its replicas of deleted topics when it is back. Where nothing makes it do
    so, a deletion waits for the answers of all brokers: a topic of that name would get the old logs."""
    measures_sizes: bool = False
    """The sizes of replicas are measured, soon after the start."""
    keeps_topics: bool = True
    """Topics, or at least their ids, are records of reassignd: a topic that was made anew meanwhile is noticed."""


@dataclass(eq=False, slots=True)
class State(UpstreamState):
    """The records by key, with counters and indexes over them."""

    mode: Mode = field(kw_only=True)
    controller_epoch: int = 0
    brokers: dict[int, Broker] = field(default_factory=dict)
    valid_lists: set[Replicas] = field(default_factory=set)
    """Replica lists that were found valid since the brokers changed."""
    live: set[int] = field(default_factory=set)
    """Brokers that are alive, including those in controlled shutdown."""
    shutting_down: set[int] = field(default_factory=set)
    topics: dict[str, Topic] = field(default_factory=dict)
    topic_names: dict[bytes, str] = field(default_factory=dict)
    partitions: dict[str, list[Partition]] = field(default_factory=dict)
    """By topic: the partitions 0..n-1, each at its index."""
    reassignments: dict[TopicPartition, Reassignment] = field(default_factory=dict)
    """In order of acceptance, as are `jobs`."""
    jobs: dict[int, Job] = field(default_factory=dict)
    last_job: int = 0
    """Ids are never used twice, because the newest job is always kept."""
    open: Counter[int] = field(default_factory=Counter)
    """Number of a job's partitions that have not ended, pending ones included. Jobs without one are absent.
    """
    finished: dict[int, dict[TopicPartition, Finished]] = field(default_factory=dict)
    """By job, in the order in which the partitions ended."""
    endings: dict[int, Counter[Ending]] = field(default_factory=dict)
    """Number of a job's partitions by ending. Jobs without one are absent."""
    pending: dict[TopicPartition, Pending] = field(default_factory=dict)
    paused: bool = False
    schedule: Schedule | None = None
    opening: Opening = ANY_TIME
    """What the schedule permits. Each decision that needs it brings it up to date."""
    leases: dict[tuple[ResourceType, str, str], Lease] = field(default_factory=dict)
    throttles: dict[int, int] = field(default_factory=dict)
    """Rates in bytes per second: of each open job that has one, and of the cluster under 0."""
    throttle: int | None = None
    """The rate for which the leases were made."""
    pace: PaceSettings | None = None
    """None while `reassignment.pace` is off."""
    pacer: Pacer = field(default_factory=Pacer)
    """What pace has measured and does. Not durable: after a start it learns anew, from small efforts."""
    pace_history: History = field(default_factory=History)
    paced_rates: Mapping[int, int] = field(default_factory=dict)
    """The throttle of pace by broker. Brokers without one are absent."""
    leased_rates: Mapping[int, int] = field(default_factory=dict)
    """The paced rates for which the leases were made."""
    adding: int = 0
    """Number of replicas that steps in flight are adding (KIP-352's ReassignedCount)."""
    reassigning: Counter[str] = field(default_factory=Counter)
    """Number of a topic's partitions with a reassignment, in flight or not. Topics without one are absent."""
    offline: set[TopicPartition] = field(default_factory=set)
    under_replicated: set[TopicPartition] = field(default_factory=set)
    acls: AclIndex = field(default_factory=AclIndex)
    scram_credentials: dict[tuple[str, str], ScramCredential] = field(default_factory=dict)
    """By user and mechanism."""
    backlog: Backlog = field(default_factory=Backlog)
    """The steps that wait for capacity. Entries may be stale: the phase of the partition decides."""
    deferred: dict[int, list[TopicPartition]] = field(default_factory=dict)
    """By paused job: its partitions whose step had capacity during the pause."""
    waiting: dict[TopicPartition, str] = field(default_factory=dict)
    """Reassignments whose next step cannot start, with the reason to show to users."""
    deletable: deque[str] = field(default_factory=deque)
    dropping: dict[str, set[tuple[int, int]]] = field(default_factory=dict)
    """Topics whose replicas are being deleted: partition and broker of those that are not deleted yet."""
    """Topics whose deletion was postponed and may be possible now."""
    woken: bool = False
    """A `Continue` event was requested and has not been decided yet."""
    metadata_revision: int = 0
    """Incremented whenever Metadata responses may change. Caches use it as their key."""
    put_by_class: dict[type[Record], Handler] = field(init=False, repr=False)
    """Class of a record -> the function that inserts or replaces it."""
    delete_by_class: dict[type[Record], Handler] = field(init=False, repr=False)
    """Class of a record -> the function that deletes it by key; it must exist."""

    def __post_init__(self) -> None:
        self.put_by_class = {
            ControllerEpoch: self._put_epoch,
            Broker: self._put_broker,
            Topic: self._put_topic,
            Partition: self._put_partition,
            Reassignment: self._put_reassignment,
            Config: self._put_config,
            Job: self._put_job,
            Finished: self._put_finished,
            Pending: self._put_pending,
            Paused: self._put_paused,
            Lease: self._put_lease,
            UpstreamStep: self._put_upstream_step,
            Acl: self.acls.add,
            ScramCredential: self._put_scram_credential,
        }
        self.delete_by_class = {
            Broker: self._delete_broker,
            Topic: self._delete_topic,
            Partition: self._delete_partition,
            Reassignment: self._delete_reassignment,
            Config: self._delete_config,
            Job: self._delete_job,
            Finished: self._delete_finished,
            Pending: self._delete_pending,
            Lease: self._delete_lease,
            UpstreamStep: self._delete_upstream_step,
            Acl: self.acls.remove,
            ScramCredential: self._delete_scram_credential,
        }

    def apply(self, changes: Iterable[Change]) -> None:
        """Apply changes that are durable already, as at start."""
        for change in changes:
            if isinstance(change, Deleted):
                self.delete(change)
            elif not isinstance(change, AuditEntry | AuditTrim):
                self.put(change)

    def put(self, record: Record) -> None:
        """Insert or replace the record under its key."""
        self.put_by_class[type(record)](record)

    def load(self, records: Iterable[Record]) -> None:
        """As `put` of each. Records of which there may be millions take less time."""
        for kind, rows in groupby(records, type):
            if kind is Partition:
                self._load_partitions(cast(Iterable[Partition], rows))
            elif kind is Reassignment and not self.under_min_isr and not self.backlog.planned:
                self._load_reassignments(cast("list[Reassignment]", list(rows)))
            elif kind is Finished:
                self._load_finished(cast(Iterable[Finished], rows))
            else:
                for record in rows:
                    self.put_by_class[kind](record)

    def put_first(self, topic: str, job: int, records: Mapping[TopicPartition, Reassignment]) -> None:
        """As `put` of each, for partitions of one topic without a reassignment that one job orders."""
        self.reassignments.update(records)
        for key in self.under_min_isr and records:
            self.under_min_isr.pop(key, None)
        self.reassigning[topic] += len(records)
        self.open[job] += len(records)
        self.reassigning_revision += 1
        self.listed_at[topic] = self.reassigning_revision

    def put_settled(self, topic: str, records: Sequence[Partition]) -> None:
        """As `put` of each, for partitions of one topic whose steps in flight have ended."""
        partitions = self.partitions[topic]
        for record in records:
            _, number, replicas, isr, _, _, _, _, _ = record
            if self.offline or self.under_replicated or isr != replicas:
                self._put_partition(record)
            else:
                self.adding -= len(partitions[number].adding)
                partitions[number] = record
        self.in_flight.end_moves(topic, [record[1] for record in records])
        self.metadata_revision += 1
        self.reassigning_revision += 1
        self.listed_at[topic] = self.reassigning_revision

    def end_all(self, topic: str, keys: Sequence[TopicPartition], ended: Mapping[int, FinishedRows]) -> None:
        """As `delete` of reassignments of the topic without a step in flight, and `put` of their ends.

        `ended` has the ends by job; a reassignment without a job has none.
        """
        for job, count in Counter(map(_job_of, map(self.reassignments.pop, keys))).items():
            count_down(self.open, job, count)
        self.backlog.forget_all(keys)
        for key in keys if self.waiting else ():
            self.waiting.pop(key, None)
        count_down(self.reassigning, topic, len(keys))
        self.reassigning_revision += 1
        self.listed_at[topic] = self.reassigning_revision
        for key in keys if self.mode.is_gateway else ():
            self.forget_sighting(key)
            self._weigh(self.partitions[topic][key.partition], False)
        for job, rows in ended.items():
            self._put_ends(job, rows)

    def delete(self, deleted: Deleted) -> None:
        """Remove the record; it must exist."""
        self.delete_by_class[deleted.kind](deleted.key)

    def partition(self, topic: str, index: int) -> Partition | None:
        """The partition, or None when the topic or the index is unknown."""
        partitions = self.partitions.get(topic, ())
        return partitions[index] if 0 <= index < len(partitions) else None

    def topic_id(self, topic: str) -> str:
        """Return the topic's id as the records of its reassignments keep it; empty where they need none."""
        known = None if self.mode.keeps_topics else self.topics.get(topic)
        return "" if known is None or known.id == NO_ID else known.id.hex()

    def all_partitions(self) -> Iterator[Partition]:
        """Every partition, topic by topic."""
        for partitions in self.partitions.values():
            yield from partitions

    @property
    def awaits_sizes(self) -> bool:
        """Whether bytes are limited, and the sizes are still to be measured."""
        return not self.measured and self.mode.measures_sizes and self.backlog.usage.bytes != UNLIMITED_BYTES

    def stop_pace(self) -> None:
        """Forget what pace has measured, and what it permits. If it is on, little moves until it has measured.

        The rates of leases, which an earlier process may have set, stay until then.
        """
        self.pacer, self.paced_rates = Pacer(), {}
        self.backlog.pace(None if self.pace is None else Windows({}, FIRST_WINDOW))
        if self.pace is not None:
            for lease in self.leases.values():
                self._keep_rate(lease)

    def _keep_rate(self, lease: Lease) -> None:
        if lease.config in RATES and lease.owned and not self.pacer.brokers:
            self.paced_rates = {**self.paced_rates, int(lease.name): int(lease.owned[-1])}

    def _put_epoch(self, record: ControllerEpoch) -> None:
        self.controller_epoch = record.epoch

    def _put_broker(self, record: Broker) -> None:
        self.brokers[record.id] = record
        self.valid_lists.clear()
        self.metadata_revision += 1

    def _put_topic(self, record: Topic) -> None:
        self.topics[record.name] = record
        if record.id != NO_ID:
            self.topic_names[record.id] = record.name
        self.partitions.setdefault(record.name, [])
        self.metadata_revision += 1

    def _put_partition(self, record: Partition) -> None:
        topic, number, key = record.topic, record.partition, record.key
        partitions = self.partitions[topic]
        # Not `Partition.moving`: this runs for every partition of a start.
        moving, was_moving = bool(record.adding or record.removing), False
        self.adding += len(record.adding)
        if number == len(partitions):
            partitions.append(record)
        else:
            before = partitions[number]
            was_moving = bool(before.adding or before.removing)
            self.adding -= len(before.adding)
            if moving and before.leader != record.leader:
                self.backlog.relead(key, record.leader)
            partitions[number] = record
        if moving or was_moving:
            self.in_flight.note(topic, number, MOVING, moving)
        self.metadata_revision += 1
        if moving or was_moving or topic in self.reassigning:
            self.reassigning_revision += 1
            self.listed_at[topic] = self.reassigning_revision
        if record.leader == NO_LEADER:
            self.offline.add(key)
        else:
            self.offline.discard(key)
        if record.isr != record.replicas and record.under_replicated:
            self.under_replicated.add(key)
        else:
            self.under_replicated.discard(key)
        if self.mode.is_gateway:
            self._weigh(record, key in self.reassignments)

    def _load_partitions(self, records: Iterable[Partition]) -> None:
        topic, partitions = "", list[Partition]()
        for record in records:
            name, number, replicas, isr, leader, _, _, adding, removing = record
            if name != topic:
                topic, partitions = name, self.partitions[name]
            is_calm = isr == replicas and leader != NO_LEADER and not adding and not removing
            if is_calm and number == len(partitions) and not self.mode.is_gateway:
                partitions.append(record)
            else:
                self._put_partition(record)
        self.metadata_revision += 1

    def _load_reassignments(self, records: Sequence[Reassignment]) -> None:
        known, new = self.reassignments, tuple.__new__
        by_key = {new(TopicPartition, (record[0], record[1])): record for record in records}
        repeated = len(by_key) < len(records) or not known.keys().isdisjoint(by_key)
        if repeated or any(map(_blocked_of, records)):
            for record in records:
                self._put_reassignment(record)
            return
        known.update(by_key)
        topics = Counter(map(_topic_of, records))
        self.reassigning.update(topics)
        self.open.update(Counter(map(_job_of, records)))
        self.reassigning_revision += 1
        for topic in topics:
            self.listed_at[topic] = self.reassigning_revision

    def _put_reassignment(self, record: Reassignment) -> None:
        key = record.key
        before = self.reassignments.get(key)
        if before is None:
            self.reassigning[record.topic] += 1
            self.under_min_isr.pop(key, None)
        else:
            count_down(self.open, before.job)
        self.open[record.job] += 1
        self.reassignments[key] = record
        self.waiting.pop(key, None)
        if record.blocked:
            self.waiting[key] = record.blocked
        self.backlog.planned.discard(key)
        self.reassigning_revision += 1
        self.listed_at[record.topic] = self.reassigning_revision

    def _put_config(self, record: Config) -> None:
        self.configs.setdefault((record.resource, record.name), {})[record.config] = record.value
        self._read_configs(record.resource, record.name)

    def _put_job(self, record: Job) -> None:
        self.jobs[record.id] = record
        self.last_job = max(self.last_job, record.id)
        if record.throttle and not record.ended_ms:
            self.throttles[record.id] = record.throttle
        else:
            self.throttles.pop(record.id, None)

    def _load_finished(self, records: Iterable[Finished]) -> None:
        for job, rows in groupby(records, itemgetter(0)):
            self._put_ends(job, {tuple.__new__(TopicPartition, row[1:3]): row for row in rows})

    def _put_finished(self, record: Finished) -> None:
        job, key = record.job, TopicPartition(record.topic, record.partition)
        rows, counted = self.finished.setdefault(job, {}), self.endings.setdefault(job, Counter())
        if key in rows:
            count_down(counted, rows[key].ending)
        rows[key] = record
        counted[record.ending] += 1

    def _put_ends(self, job: int, rows: FinishedRows) -> None:
        """As `_put_finished` of each, in a third of the time."""
        known, counted = self.finished.setdefault(job, {}), self.endings.setdefault(job, Counter())
        for key in () if known.keys().isdisjoint(rows) else known.keys() & rows:
            count_down(counted, known[key].ending)
        known.update(rows)
        counted.update([row.ending for row in rows.values()])

    def _put_pending(self, record: Pending) -> None:
        before = self.pending.get(record.key)
        if before is not None:
            count_down(self.open, before.job)
        self.open[record.job] += 1
        self.pending[record.key] = record
        self.reassigning_revision += 1
        self.listed_at[record.topic] = self.reassigning_revision

    def _put_lease(self, record: Lease) -> None:
        self.leases[record.key] = record
        if self.pace is not None:
            self._keep_rate(record)

    def _put_scram_credential(self, record: ScramCredential) -> None:
        self.scram_credentials[record.key] = record

    def _put_paused(self, record: Paused) -> None:
        self.paused = record.paused

    def _delete_broker(self, key: int) -> None:
        del self.brokers[key]
        self.valid_lists.clear()
        self.metadata_revision += 1

    def _delete_topic(self, key: str) -> None:
        topic = self.topics.pop(key)
        self.dropping.pop(key, None)
        self.topic_names.pop(topic.id, None)
        self.partitions.pop(key, None)
        self.listed_at.pop(key, None)
        self.shown_in_part.discard(key)
        self.metadata_revision += 1

    def _delete_partition(self, key: TopicPartition) -> None:
        """Partitions are deleted with their topic, the highest index first."""
        gone = self.partitions[key.topic].pop()
        self.adding -= len(gone.adding)
        self.in_flight.note(*key, MOVING, False)
        self.offline.discard(key)
        self.under_replicated.discard(key)
        self.discard_external(key)
        self.past.forget(key)
        self.under_min_isr.pop(key, None)
        self.sizes.pop(key, None)
        self.metadata_revision += 1

    def _delete_reassignment(self, key: TopicPartition) -> None:
        count_down(self.open, self.reassignments.pop(key).job)
        self.waiting.pop(key, None)
        self.backlog.planned.discard(key)
        count_down(self.reassigning, key.topic)
        self.reassigning_revision += 1
        self.listed_at[key.topic] = self.reassigning_revision
        if self.mode.is_gateway and (partition := self.partition(*key)) is not None:
            self._weigh(partition, False)

    def _delete_job(self, key: int) -> None:
        del self.jobs[key]
        self.throttles.pop(key, None)
        if key == self.last_job:
            self.last_job = max(self.jobs, default=0)

    def _delete_finished(self, key: tuple[int, TopicPartition]) -> None:
        job, partition = key
        count_down(self.endings[job], self.finished[job].pop(partition).ending)
        if not self.finished[job]:
            del self.finished[job], self.endings[job]

    def _delete_lease(self, key: tuple[ResourceType, str, str]) -> None:
        del self.leases[key]

    def _delete_scram_credential(self, key: tuple[str, str]) -> None:
        del self.scram_credentials[key]

    def _delete_pending(self, key: TopicPartition) -> None:
        count_down(self.open, self.pending.pop(key).job)
        self.reassigning_revision += 1
        self.listed_at[key.topic] = self.reassigning_revision

    def _delete_config(self, key: tuple[ResourceType, str, str]) -> None:
        resource, name, config = key
        values = self.configs[resource, name]
        del values[config]
        if not values:
            del self.configs[resource, name]
        self._read_configs(resource, name)

    def set_static_configs(self, configs: Mapping[str, str]) -> None:
        """Set the cluster-wide values of the server's settings, which dynamic values replace."""
        self.static_configs = configs
        self._read_configs(ResourceType.BROKER, CLUSTER_DEFAULT)

    def _read_configs(self, resource: ResourceType, name: str) -> None:
        """Read the values that decisions need often from the configs of a resource that has changed."""
        configs = self.configs.get((resource, name), {})
        if resource is ResourceType.TOPIC:
            self.topic_min_isr.pop(name, None)
            if MIN_ISR in configs:
                self.topic_min_isr[name] = int(configs[MIN_ISR])
            for partition in self.partitions.get(name, ()) if self.mode.is_gateway else ():
                self._weigh(partition, partition.key in self.reassignments)
        elif name == CLUSTER_DEFAULT:
            configs = {**self.static_configs, **configs}
            self.default_min_isr = int(configs.get(MIN_ISR, 1))
            self.throttles.pop(0, None)
            if THROTTLE in configs:
                self.throttles[0] = int(configs[THROTTLE])
            self.backlog.change_limits(limits_of(configs), int(configs.get(BYTES_CONFIG, UNLIMITED_BYTES)))
            text = configs.get(SCHEDULE, "").strip()
            schedule = read_schedule(text) if text else None
            pace = pace_settings(configs) if PACE in configs else None
            if pace != self.pace:
                self.pace = pace
                self.stop_pace()
            if schedule != self.schedule:
                self.schedule, self.opening = schedule, STALE if schedule else ANY_TIME


K = TypeVar("K")


def count_down(counts: Counter[K], key: K, by: int = 1) -> None:
    """Subtract from the count of the key, and remove a key whose count is 0."""
    left = counts[key] - by
    if left:
        counts[key] = left
    else:
        del counts[key]


@dataclass(eq=False, slots=True)
class Decision:
    """Collects records, effects and the reply.

    Each record changes the state at once, so that later rows see it.
    """

    state: State
    now_ms: int = 0
    rows: int = 0
    """Number of requested rows so far. The more there are, the fewer steps the decision starts."""
    cancelled: int = 0
    """Number of partitions that a request has cancelled."""
    leader_changes: int = 0
    """Number of leader movements that this decision has completed. They count against limit L until its end, so
    that a decision changes at most L leaders."""
    changes: list[Change] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    """The driver carries them out in order, after the records are durable."""
    more: bool = False
    """Other steps can start, or topics can be deleted: the driver submits `Continue` as background work."""
    wake_at_ms: int | None = None
    """When the driver submits `PeriodChanged`; replaces an earlier time. None leaves that as it is."""
    reply: Any = None
    """Set by `answer`, which checks its type; None when the event has no reply."""

    def put(self, record: Record) -> None:
        """Insert or replace the record."""
        self.state.put_by_class[type(record)](record)
        self.changes.append(record)

    def delete(self, kind: type[Record], key: object) -> None:
        """Remove the record, which exists."""
        self.state.delete_by_class[kind](key)
        self.changes.append(Deleted(kind, key))

    def answer(self, event: Event[Reply], reply: Reply) -> None:
        """Set the reply to the event that this decision is about."""
        self.reply = reply
