"""The entry point of the controller: `decide` turns an event into records, effects and a reply.

Every decision ends by starting the steps that the limits allow (`controller.reassignment.window`). A handler
that may take long is a generator. Between two of its slices other tasks may read the state, but no other
event is decided.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from controller.access.changes import alter_scram_credentials, create_acls, delete_acls
from controller.cluster.brokers import (
    broker_started,
    broker_stopped,
    controlled_shutdown,
    controller_started,
    log_dir_failed,
)
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
from controller.configs.changes import alter_configs
from controller.messages import access_events, events, job_events, upstream_events, zookeeper_events
from controller.messages.event import AnyEvent
from controller.pace.decisions import pace_measured
from controller.pace.readings import PaceMeasured
from controller.reassignment.alter import alter_reassignments
from controller.reassignment.jobs import pause, prioritize, prune, reorder, roll_back_job, throttle_job
from controller.reassignment.phases import Trigger, fire
from controller.reassignment.queue import queue_plan
from controller.reassignment.window import fill
from controller.state.decision import Decision
from controller.throttle.delegated import adjust_delegated, leases_imported, throttle_read
from controller.throttle.direct import adjust_direct
from controller.throttle.others import broker_rates_seen
from controller.upstream.polled import measured, topic_configs_seen, unreachable, upstream_polled
from controller.upstream.reconciliation import submitted

E = TypeVar("E", bound=AnyEvent)
Handler = Callable[[Decision, E], Iterator[None] | None]


def decide(d: Decision, event: AnyEvent) -> Iterator[None]:
    """Decide the event, slice by slice. After the last slice `d` is complete."""
    slices = _HANDLERS[type(event)](d, event)
    if slices is not None:
        yield from slices
    fill(d)
    if d.state.profile.has_upstream:
        adjust_delegated(d)
    else:
        adjust_direct(d)


def _stalled(d: Decision, event: events.Stalled) -> None:
    for key in event.partitions:
        partition = d.state.partition(*key)
        if partition is not None:
            fire(d, partition, Trigger.STALL)


def _continue(d: Decision, _: events.Continue) -> Iterator[None]:
    d.state.woken = False
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
        _handler(access_events.CreateAcls, create_acls),
        _handler(access_events.DeleteAcls, delete_acls),
        _handler(access_events.AlterScramCredentials, alter_scram_credentials),
        _handler(events.ElectLeaders, elect_leaders),
        _handler(events.RebalanceLeaders, rebalance_leaders),
        _handler(events.ControllerStarted, controller_started),
        _handler(events.BrokerStarted, broker_started),
        _handler(events.BrokerStopped, broker_stopped),
        _handler(events.ControlledShutdown, controlled_shutdown),
        _handler(events.LogDirFailed, log_dir_failed),
        _handler(events.AlterPartition, alter_partition),
        _handler(job_events.RollBackJob, roll_back_job),
        _handler(job_events.Queue, queue_plan),
        _handler(job_events.Pause, pause),
        _handler(job_events.Prioritize, prioritize),
        _handler(job_events.ThrottleJob, throttle_job),
        _handler(job_events.Reorder, reorder),
        _handler(job_events.Prune, prune),
        _handler(events.Stalled, _stalled),
        _handler(events.Continue, _continue),
        _handler(events.PeriodChanged, _period_changed),
        _handler(PaceMeasured, pace_measured),
        _handler(upstream_events.UpstreamPolled, upstream_polled),
        _handler(upstream_events.Unreachable, unreachable),
        _handler(upstream_events.Submitted, submitted),
        _handler(upstream_events.Measured, measured),
        _handler(upstream_events.TopicConfigsSeen, topic_configs_seen),
        _handler(upstream_events.ThrottleRead, throttle_read),
        _handler(upstream_events.BrokerRatesSeen, broker_rates_seen),
        _handler(upstream_events.LeasesImported, leases_imported),
        _handler(zookeeper_events.PartitionsStored, partitions_stored),
        _handler(zookeeper_events.TopicStored, topic_stored),
        _handler(zookeeper_events.ConfigsStored, configs_stored),
        _handler(events.BrokerChanged, broker_changed),
        _handler(zookeeper_events.ReplicasDeleted, replicas_deleted),
        _handler(zookeeper_events.Halt, halt),
    ]
)
