"""The state of the controller.

All records, with counters and indexes over them, and the decision that changes it.

The records change by `Decision.put` and `delete` alone, and what is not durable by methods of the owners that
a decision calls. Between two decisions the state is consistent, so that others may read it then. Loading the
store puts every record, so the state after a restart equals the state before.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol, cast

from controller.messages.effects import Effect
from controller.messages.event import Event, Reply
from controller.model.audit import AuditEntry, AuditTrim
from controller.model.cluster import (
    NO_ID,
    Acl,
    Broker,
    Change,
    Config,
    ControllerEpoch,
    Deleted,
    Finished,
    Job,
    Partition,
    Paused,
    Pending,
    Reassignment,
    Record,
    Replicas,
    ResourceType,
    ScramCredential,
    ThrottleLease,
    Topic,
    TopicPartition,
    UpstreamStep,
)
from controller.model.configs import PACE, THROTTLE, ConfigName
from controller.model.disks import BrokerReplica, DiskMove
from controller.model.held_requests import HeldRequest
from controller.model.jobs import JobKind
from controller.model.limits import NO_LIMITS
from controller.model.load_hours import LoadHours
from controller.model.tasks import DryRun, UserTask
from controller.pace.readings import FIRST_WINDOW, pace_settings
from controller.schedule.periods import no_zones
from controller.scheduling.backlog import Backlog
from controller.scheduling.limits import Cost, Windows, limits_of
from controller.state.access import AclIndex
from controller.state.cluster import ClusterState
from controller.state.disks import DiskState
from controller.state.gateway import GatewayState
from controller.state.held_requests import HeldRequests
from controller.state.orders import MOVING, FinishedRows, Listing, Orders, StepsInFlight
from controller.state.settings import CLUSTER_DEFAULT, PaceState, SettingsState, ThrottleState
from controller.state.tasks import TaskState

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

    def complete(self, d: "Decision", partition: Partition, target: Replicas, preferred: int) -> bool:
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
    """Topics, or at least their ids, are records of reassignd: a topic that was recreated meanwhile is
    noticed."""


class State:
    """All records, in one owner for each concern.

    An owner alone changes its fields; everyone else reads them, or calls its methods. What a record means to
    several owners is said here.
    """

    __slots__ = (
        "acls",
        "backlog",
        "cluster",
        "delete_by_class",
        "disks",
        "gateway",
        "held",
        "in_flight",
        "listing",
        "load_hours",
        "mode",
        "orders",
        "pace",
        "put_by_class",
        "scram_credentials",
        "settings",
        "tasks",
        "throttle",
        "woken",
    )

    def __init__(
        self, mode: Mode, cluster: ClusterState | None = None, settings: SettingsState | None = None
    ) -> None:
        self.mode = mode
        self.cluster = cluster or ClusterState()
        self.settings = settings or SettingsState(no_zones)
        self.listing = Listing()
        self.orders = Orders(self.listing)
        self.in_flight = StepsInFlight()
        self.backlog = Backlog()
        """The steps that wait for capacity. Entries may be stale: the phase of the partition decides."""
        self.gateway = GatewayState(self.listing, self.in_flight)
        self.throttle = ThrottleState()
        self.pace = PaceState()
        self.acls = AclIndex()
        self.scram_credentials: dict[tuple[str, str], ScramCredential] = {}
        """By user and mechanism."""
        self.tasks = TaskState()
        self.held = HeldRequests()
        self.load_hours: dict[int, LoadHours] = {}
        """By number."""
        self.disks = DiskState()
        self.woken = False
        """A `Continue` event was requested and has not been decided yet."""
        self.put_by_class = self._putters()
        self.delete_by_class = self._deleters()

    def _putters(self) -> dict[type[Record], Handler]:
        """Class of a record -> the function that inserts or replaces it."""
        return {
            ControllerEpoch: self._put_epoch,
            Broker: self.cluster.put_broker,
            Topic: self.cluster.put_topic,
            Partition: self._put_partition,
            Reassignment: self._put_reassignment,
            Config: self._put_config,
            Job: self._put_job,
            Finished: self.orders.put_finished,
            Pending: self.orders.put_pending,
            Paused: self._put_paused,
            ThrottleLease: self._put_lease,
            UpstreamStep: self.gateway.put_step,
            Acl: self.acls.add,
            ScramCredential: self._put_scram_credential,
            UserTask: self.tasks.put,
            DryRun: self.tasks.put_run,
            HeldRequest: self.held.put,
            LoadHours: self._put_load_hours,
            DiskMove: self._put_move,
        }

    def _deleters(self) -> dict[type[Record], Handler]:
        """Class of a record -> the function that deletes it by key; it must exist."""
        return {
            Broker: self.cluster.delete_broker,
            Topic: self._delete_topic,
            Partition: self._delete_partition,
            Reassignment: self._delete_reassignment,
            Config: self._delete_config,
            Job: self._delete_job,
            Finished: self.orders.delete_finished,
            Pending: self.orders.delete_pending,
            ThrottleLease: self.throttle.delete_lease,
            UpstreamStep: self.gateway.delete_step,
            Acl: self.acls.remove,
            ScramCredential: self.scram_credentials.__delitem__,
            UserTask: self.tasks.delete,
            DryRun: self.tasks.delete_run,
            HeldRequest: self.held.delete,
            LoadHours: self.load_hours.__delitem__,
            DiskMove: self._delete_move,
        }

    # ---- records -------------------------------------------------------------------------------------------

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

    def delete(self, deleted: Deleted) -> None:
        """Remove the record; it must exist."""
        self.delete_by_class[deleted.kind](deleted.key)

    def load(self, records: Iterable[Record]) -> None:
        """As `put` of each. Records of which there may be millions take less time."""
        for kind, rows in groupby(records, type):
            if kind is Partition and not self.mode.is_gateway:
                for partition in self.cluster.append_calm(cast(Iterable[Partition], rows)):
                    self._put_partition(partition)
            elif kind is Reassignment and not self.gateway.under_min_isr and not self.backlog.planned:
                self.orders.load_reassignments(cast("list[Reassignment]", list(rows)))
            elif kind is Finished:
                self.orders.load_finished(cast(Iterable[Finished], rows))
            else:
                for record in rows:
                    self.put_by_class[kind](record)

    def put_first(self, topic: str, job: int, records: Mapping[TopicPartition, Reassignment]) -> None:
        """As `put` of each, for partitions of one topic without a reassignment that one job orders."""
        self.orders.put_first(topic, job, records)
        for key in self.gateway.under_min_isr and records:
            self.gateway.is_ours(key)

    def put_settled(self, topic: str, records: Sequence[Partition]) -> None:
        """As `put` of each, for partitions of one topic whose steps in flight have ended."""
        for record in self.cluster.end_steps(topic, records):
            self._put_partition(record)
        self.in_flight.end_moves(topic, [record[1] for record in records])
        self.listing.changed(topic)

    def end_all(self, topic: str, keys: Sequence[TopicPartition], ended: Mapping[int, FinishedRows]) -> None:
        """As `delete` of reassignments of the topic without a step in flight, and `put` of their ends.

        `ended` has the ends by job; a reassignment without a job has none.
        """
        self.orders.end_all(topic, keys, ended)
        self.backlog.forget_all(keys)
        for key in keys if self.mode.is_gateway else ():
            self.gateway.forget_sighting(key)
            self.gateway.weigh(self.cluster.partitions[topic][key.partition], False, self.settings)

    # ---- what concerns several owners ----------------------------------------------------------------------

    @property
    def is_throttled(self) -> bool:
        """Whether a throttle is in force, or something is left of one."""
        throttle, opening = self.throttle, self.settings.opening
        ordered = throttle.rates or throttle.paced_rates or opening.throttle is not None
        return bool(ordered or throttle.leases or self.backlog.usage.throttled or self.disks.rates)

    def topic_id(self, topic: str) -> str:
        """Return the topic's id as the records of its reassignments keep it; empty where they need none."""
        known = None if self.mode.keeps_topics else self.cluster.topics.get(topic)
        return "" if known is None or known.id == NO_ID else known.id.hex()

    @property
    def sizes_known(self) -> bool:
        """Whether the sizes of replicas are known, or will be told without a measurement."""
        return not self.mode.measures_sizes or self.cluster.measured

    @property
    def awaits_sizes(self) -> bool:
        """Whether bytes are limited, and the sizes are still to be measured."""
        limited = self.backlog.usage.limits.bytes != NO_LIMITS.bytes
        return limited and not self.sizes_known

    def open_job(self, job: Job) -> None:
        """Begin a job that is not a record yet: its first steps may start before it is one."""
        self.orders.open_job(job)
        self.backlog.limit_job(job.id, job.limits)

    def drop_job(self, number: int) -> None:
        """Remove a job that was begun and has no partitions."""
        self.orders.drop_job(number)
        self.backlog.limit_job(number, NO_LIMITS)

    def wake(self) -> bool:
        """Return whether a `Continue` event is to be submitted.

        There is more to do, and none is on its way.
        """
        requested, self.woken = not self.woken, True
        return requested

    def woke_up(self) -> None:
        """The `Continue` event is being decided."""
        self.woken = False

    def set_static_configs(self, configs: Mapping[str, str]) -> None:
        """Set the cluster-wide values of the server's settings, which dynamic values replace."""
        self.settings.set_static(configs)
        self._configs_changed(ResourceType.BROKER, CLUSTER_DEFAULT)

    def _put_epoch(self, record: ControllerEpoch) -> None:
        self.cluster.set_epoch(record.epoch)

    def _put_partition(self, record: Partition) -> None:
        topic, number, _, _, leader, _, _, adding, removing = record
        before = self.cluster.put_partition(record)
        # Not `Partition.moving`: this runs for every partition of a start.
        moving = bool(adding or removing)
        was_moving = before is not None and bool(before.adding or before.removing)
        if moving and before is not None and before.leader != leader:
            self.backlog.relead(record.key, leader)
        if moving or was_moving:
            self.in_flight.note(topic, number, MOVING, moving)
        if moving or was_moving or topic in self.orders.reassigning:
            self.listing.changed(topic)
        if self.mode.is_gateway:
            self.gateway.weigh(record, record.key in self.orders.reassignments, self.settings)

    def _delete_partition(self, key: TopicPartition) -> None:
        self.cluster.delete_partition(key)
        self.in_flight.note(*key, MOVING, False)
        self.gateway.forget_partition(key)

    def _delete_topic(self, name: str) -> None:
        self.cluster.delete_topic(name)
        self.listing.forget(name)
        self.gateway.note_part(name, complete=True)

    def _put_reassignment(self, record: Reassignment) -> None:
        key = record.key
        if self.orders.put_reassignment(record) and self.gateway.under_min_isr:
            self.gateway.is_ours(key)
        self.backlog.planned.discard(key)

    def _delete_reassignment(self, key: TopicPartition) -> None:
        self.orders.delete_reassignment(key)
        self.backlog.planned.discard(key)
        if self.mode.is_gateway and (partition := self.cluster.partition(*key)) is not None:
            self.gateway.weigh(partition, False, self.settings)

    def _put_job(self, record: Job) -> None:
        self.orders.put_job(record)
        (self.disks if record.kind is JobKind.DISKS else self.throttle).follow_job(record)
        self.backlog.limit_job(record.id, NO_LIMITS if record.ended_ms else record.limits)

    def _delete_job(self, number: int) -> None:
        self.orders.delete_job(number)
        self.throttle.forget_job(number)
        self.disks.forget_job(number)
        self.backlog.limit_job(number, NO_LIMITS)

    def _put_move(self, record: DiskMove) -> None:
        self.orders.count_moves(record.job, self.disks.put(record))

    def _delete_move(self, key: tuple[int, BrokerReplica]) -> None:
        self.orders.count_moves(key[0], self.disks.delete(key))

    def _put_paused(self, record: Paused) -> None:
        self.orders.set_paused(record.paused)

    def _put_lease(self, record: ThrottleLease) -> None:
        self.throttle.put_lease(record)
        self._keep_paced(record)

    def _put_scram_credential(self, record: ScramCredential) -> None:
        self.scram_credentials[record.key] = record

    def _put_load_hours(self, record: LoadHours) -> None:
        self.load_hours[record.number] = record

    def _put_config(self, record: Config) -> None:
        self.settings.put(record)
        self._configs_changed(record.resource, record.name)

    def _delete_config(self, key: ConfigName) -> None:
        self.settings.delete(key)
        self._configs_changed(key[0], key[1])

    def _configs_changed(self, resource: ResourceType, name: str) -> None:
        """Pass the values of a resource that has changed to those who need them."""
        if resource is ResourceType.TOPIC:
            for partition in self.cluster.partitions.get(name, ()) if self.mode.is_gateway else ():
                self.gateway.weigh(partition, partition.key in self.orders.reassignments, self.settings)
        elif name == CLUSTER_DEFAULT:
            configs = self.settings.cluster_configs
            self.throttle.set_cluster_rate(int(configs[THROTTLE]) if THROTTLE in configs else None)
            self.backlog.change_limits(limits_of(configs))
            if self.pace.change(pace_settings(configs) if PACE in configs else None):
                self._pace_changed()

    def _pace_changed(self) -> None:
        """Start pace over. If it is on, little moves until it has measured.

        The rates of leases, which an earlier process may have set, stay until then.
        """
        self.throttle.set_paced({})
        self.backlog.pace(None if self.pace.settings is None else Windows({}, FIRST_WINDOW))
        for lease in self.throttle.leases.values():
            self._keep_paced(lease)

    def _keep_paced(self, lease: ThrottleLease) -> None:
        if self.pace.settings is not None and not self.pace.pacer.brokers:
            self.throttle.keep_paced(lease)


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
    leader_changes: Counter[Cost] = field(default_factory=Counter)
    """The leader movements that this decision has completed. They count against limit L until its end, so
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

    def is_stopped(self) -> bool:
        """Return whether no step may start, after a look at the schedule.

        All is paused or halted, the schedule is closed, or the upstream is unreachable.
        """
        state, settings = self.state, self.state.settings
        if settings.follow_schedule(self.now_ms):
            self.wake_at_ms = settings.opening.until_ms
        stopped = state.orders.paused or state.backlog.halted or not settings.opening.is_open
        return stopped or bool(state.gateway.unreachable)

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
