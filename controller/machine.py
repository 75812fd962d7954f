"""The entry point of the controller: `decide` turns an event into records, effects and a reply.

Every decision ends by starting the steps that the limits allow: steps that ended in it have freed capacity
for others (KIP-435's rolling window). A handler that may take long is a generator. Between two of its slices
other tasks may read the state, but no other event is decided.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from controller.approvals.held_requests import decide_held, hold, submit_held
from controller.cluster.access import alter_scram_credentials, create_acls, delete_acls
from controller.cluster.brokers import (
    broker_started,
    broker_stopped,
    controlled_shutdown,
    controller_started,
    log_dir_failed,
)
from controller.cluster.configs import alter_configs
from controller.cluster.deletions import delete_topics, replicas_deleted, resume_deletions
from controller.cluster.external_changes import (
    broker_changed,
    configs_stored,
    halt,
    partitions_stored,
    topic_stored,
)
from controller.cluster.isr import alter_partition
from controller.cluster.leaders import elect_leaders, rebalance_leaders
from controller.cluster.topics import create_partitions, create_topics
from controller.disks.orders import cancel_moves, move_disks, roll_back_moves
from controller.disks.rules import disks_seen, moves_refused
from controller.execution.pacing import pace_measured
from controller.execution.throttle import adjust_throttle
from controller.gateway import events as gateway_events
from controller.gateway.polled import measured, topic_configs_seen, unreachable, upstream_polled
from controller.gateway.reconciliation import submitted
from controller.gateway.throttle import (
    broker_rates_seen,
    cordon_refused,
    dirs_removed,
    leases_imported,
    request_throttle,
    throttle_read,
)
from controller.messages import disk_events, events, held_events, job_events, task_events
from controller.messages.event import AnyEvent
from controller.model.jobs import JobKind
from controller.pace.readings import PaceMeasured
from controller.reassignment.jobs import (
    limit_job,
    pause,
    prioritize,
    prune,
    reorder,
    roll_back_job,
    throttle_job,
)
from controller.reassignment.orders import alter_reassignments, queue_plan
from controller.reassignment.phases import Phase, Trigger, fire, phase_of
from controller.reassignment.tasks import task_ended
from controller.state.state import Decision

E = TypeVar("E", bound=AnyEvent)
Handler = Callable[[Decision, E], Iterator[None] | None]


def decide(d: Decision, event: AnyEvent) -> Iterator[None]:
    """Decide the event, slice by slice. After the last slice `d` is complete."""
    slices = _HANDLERS[type(event)](d, event)
    if slices is not None:
        yield from slices
    fill(d)
    if d.state.mode.is_gateway:
        request_throttle(d)
    elif d.state.is_throttled:
        adjust_throttle(d)
    elif d.state.in_flight.changed_topics:
        d.state.in_flight.take_changed()


def _roll_back(d: Decision, event: job_events.RollBackJob) -> Iterator[None]:
    job = d.state.orders.jobs.get(event.job)
    if job is not None and job.kind is JobKind.DISKS:
        yield from roll_back_moves(d, event, job)
    else:
        yield from roll_back_job(d, event)


def _hours_measured(d: Decision, event: events.HoursMeasured) -> None:
    d.put(event.hours)


def _stalled(d: Decision, event: events.Stalled) -> None:
    for key in event.partitions:
        partition = d.state.cluster.partition(*key)
        if partition is not None:
            fire(d, partition, Trigger.STALL)


def _continue(d: Decision, _: events.Continue) -> Iterator[None]:
    d.state.woke_up()
    yield from resume_deletions(d)


def _period_changed(d: Decision, _: events.PeriodChanged) -> None:
    """Do nothing: `fill` follows the schedule in every decision, and the throttle follows after it."""


def _handler(kind: type[E], handler: Handler[E]) -> tuple[type[AnyEvent], Handler[Any]]:
    """Pair a class of events with its handler; mypy checks that the handler takes such events."""
    return kind, handler


# A dict cannot say that a class has the handler of its own events; `_handler` checks each pair.
_HANDLERS: dict[type[AnyEvent], Handler[Any]] = dict(
    [
        _handler(events.AlterReassignments, alter_reassignments),
        _handler(events.CreateTopics, create_topics),
        _handler(events.DeleteTopics, delete_topics),
        _handler(events.CreatePartitions, create_partitions),
        _handler(events.AlterConfigs, alter_configs),
        _handler(events.CreateAcls, create_acls),
        _handler(events.DeleteAcls, delete_acls),
        _handler(events.AlterScramCredentials, alter_scram_credentials),
        _handler(events.ElectLeaders, elect_leaders),
        _handler(events.RebalanceLeaders, rebalance_leaders),
        _handler(events.ControllerStarted, controller_started),
        _handler(events.BrokerStarted, broker_started),
        _handler(events.BrokerStopped, broker_stopped),
        _handler(events.ControlledShutdown, controlled_shutdown),
        _handler(events.LogDirFailed, log_dir_failed),
        _handler(events.AlterPartition, alter_partition),
        _handler(job_events.RollBackJob, _roll_back),
        _handler(job_events.Queue, queue_plan),
        _handler(job_events.Pause, pause),
        _handler(job_events.Prioritize, prioritize),
        _handler(job_events.ThrottleJob, throttle_job),
        _handler(job_events.LimitJob, limit_job),
        _handler(job_events.Reorder, reorder),
        _handler(job_events.Prune, prune),
        _handler(task_events.TaskEnded, task_ended),
        _handler(held_events.Hold, hold),
        _handler(held_events.DecideHeld, decide_held),
        _handler(held_events.SubmitHeld, submit_held),
        _handler(events.HoursMeasured, _hours_measured),
        _handler(disk_events.MoveDisks, move_disks),
        _handler(disk_events.CancelMoves, cancel_moves),
        _handler(disk_events.DisksSeen, disks_seen),
        _handler(disk_events.MovesRefused, moves_refused),
        _handler(events.Stalled, _stalled),
        _handler(events.Continue, _continue),
        _handler(events.PeriodChanged, _period_changed),
        _handler(PaceMeasured, pace_measured),
        _handler(gateway_events.UpstreamPolled, upstream_polled),
        _handler(gateway_events.Unreachable, unreachable),
        _handler(gateway_events.Submitted, submitted),
        _handler(gateway_events.Measured, measured),
        _handler(gateway_events.TopicConfigsSeen, topic_configs_seen),
        _handler(gateway_events.ThrottleRead, throttle_read),
        _handler(gateway_events.BrokerRatesSeen, broker_rates_seen),
        _handler(gateway_events.CordonRefused, cordon_refused),
        _handler(gateway_events.DirsRemoved, dirs_removed),
        _handler(gateway_events.LeasesImported, leases_imported),
        _handler(events.PartitionsStored, partitions_stored),
        _handler(events.TopicStored, topic_stored),
        _handler(events.ConfigsStored, configs_stored),
        _handler(events.BrokerChanged, broker_changed),
        _handler(events.ReplicasDeleted, replicas_deleted),
        _handler(events.Halt, halt),
    ]
)


STEPS_PER_DECISION = 250
"""Steps planned, and steps started, in one decision, which then takes a few milliseconds. Later decisions do
the rest."""


def fill(d: Decision) -> None:
    """Plan enqueued partitions and start steps that the limits allow. Set `more` if more are left.

    It plans and starts at most STEPS_PER_DECISION each. After a large request the number is smaller or 0, so
    that the request is answered before its steps start. Orders, cancels and stalls may begin steps elsewhere.
    """
    state = d.state
    backlog = state.backlog
    stopped = d.is_stopped()
    if not stopped and (backlog.to_plan or backlog.size):
        for key, may_start in backlog.next_steps(STEPS_PER_DECISION - d.rows):
            partition = state.cluster.partition(*key)
            if partition is None or phase_of(state, key) is not Phase.QUEUED:
                continue
            job = state.orders.jobs.get(state.orders.reassignments[key].job)
            if job is not None and job.paused:
                state.orders.defer(job.id, key)
            else:
                fire(d, partition, Trigger.START if may_start else Trigger.PLAN)
    for cost, times in d.leader_changes.items():
        backlog.usage.count(cost, -times)
    more = not stopped and (backlog.to_plan or backlog.size) and not backlog.idle
    if more or state.cluster.deletable:
        d.more = state.wake()
