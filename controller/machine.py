"""The one door: an event goes in, records, effects and a reply come out (`decide`).

Whatever the event, the decision ends by starting what may start (`controller.reassignment.window`), so that nobody has to
remember to. A handler that may take long is a generator; between two of its slices others may read the state, but
no other event is decided.
"""

from collections.abc import Callable, Iterator
from typing import Any

from controller.cluster.brokers import (
    broker_started,
    broker_stopped,
    controlled_shutdown,
    controller_started,
    log_dir_failed,
)
from controller.cluster.deletions import delete_topics, resume_deletions
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
from controller.messages import events, job_events, upstream_events, zookeeper_events
from controller.reassignment.alter import alter_reassignments
from controller.reassignment.jobs import pause, prioritize, prune, reorder, roll_back_job
from controller.reassignment.phases import Trigger, fire
from controller.reassignment.queue import queue_plan
from controller.reassignment.throttle import adjust
from controller.reassignment.window import fill
from controller.state.decision import Decision
from controller.upstream.polled import measured, topic_configs_seen, unreachable, upstream_polled
from controller.upstream.reconciliation import submitted

Handler = Callable[[Decision, Any], Iterator[None] | None]


def decide(d: Decision, event: events.Event) -> Iterator[None]:
    """Decide the event, slice by slice; after the last slice `d` is complete."""
    slices = _HANDLERS[type(event)](d, event)
    if slices is not None:
        yield from slices
    fill(d)
    adjust(d)


def _stalled(d: Decision, event: events.Stalled) -> None:
    for key in event.partitions:
        partition = d.state.partition(*key)
        if partition is not None:
            fire(d, partition, Trigger.STALL)


def _go_on(d: Decision, _: events.Continue) -> Iterator[None]:
    d.state.woken = False
    yield from resume_deletions(d)


_HANDLERS: dict[type, Handler] = {
    events.AlterReassignments: alter_reassignments,
    events.CreateTopics: create_topics,
    events.DeleteTopics: delete_topics,
    events.CreatePartitions: create_partitions,
    events.AlterConfigs: alter_configs,
    events.ElectLeaders: elect_leaders,
    events.RebalanceLeaders: rebalance_leaders,
    events.ControllerStarted: controller_started,
    events.BrokerStarted: broker_started,
    events.BrokerStopped: broker_stopped,
    events.ControlledShutdown: controlled_shutdown,
    events.LogDirFailed: log_dir_failed,
    events.AlterPartition: alter_partition,
    job_events.RollBackJob: roll_back_job,
    job_events.Queue: queue_plan,
    job_events.Pause: pause,
    job_events.Prioritize: prioritize,
    job_events.Reorder: reorder,
    job_events.Prune: prune,
    events.Stalled: _stalled,
    events.Continue: _go_on,
    upstream_events.UpstreamPolled: upstream_polled,
    upstream_events.Unreachable: unreachable,
    upstream_events.Submitted: submitted,
    upstream_events.Measured: measured,
    upstream_events.TopicConfigsSeen: topic_configs_seen,
    zookeeper_events.PartitionsStored: partitions_stored,
    zookeeper_events.TopicStored: topic_stored,
    zookeeper_events.ConfigsStored: configs_stored,
    events.BrokerChanged: broker_changed,
    zookeeper_events.Halt: halt,
}
