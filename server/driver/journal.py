"""The log of decisions: one line per request or event of importance, none per partition.

`Journal.log_decision` is called with each durable decision. It counts rows and formats only a few names, so
that a request with 100,000 rows does not delay others. Of a gateway it also logs the health of the upstream,
refused rows, and changes by other clients.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, cast

from common.address import Address
from common.clock import Clock
from common.error_codes import ErrorCode
from common.lists import grouped
from common.rates import in_rate
from common.wording import counted, some
from controller.gateway.events import Submitted, Unreachable, UpstreamPolled
from controller.messages import disk_events, events, job_events
from controller.messages.event import AnyEvent
from controller.model.cluster import Config, Deleted, Ending, Job, JobKind, Reassignment
from controller.model.configs import ConfigName
from controller.model.errors import Outcome
from controller.pace.readings import PaceMeasured
from controller.scheduling.limits import limits_text
from controller.state.state import Decision, State
from controller.views.jobs import PartState, endings_of, totals
from server.events.hub import EventHub

log = logging.getLogger(__name__)


PROGRESS_SECONDS = 10.0


NAMED = 5
"""Names in one line; further ones are only counted. Of client ids and values, which clients may make long, a
line has 250 characters."""


SAMPLE = 1_000
"""Waiting partitions whose reasons are counted for one line."""


NOT_REFUSED = {ErrorCode.NONE, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, ErrorCode.REQUEST_TIMED_OUT}
"""The second one answers the cancel of a step that ended a moment before. The third one stands for no answer,
which is logged where rows are sent: they may have taken effect."""


_ORDERS = {kind: "queued" if kind is JobKind.QUEUE else "accepted" for kind in JobKind}


class Journal:
    """Logs decisions, and passes them to the event stream.

    Create it when the store is loaded: jobs that exist then are not logged as new.
    """

    def __init__(self, state: State, events: EventHub | None = None) -> None:
        self._state, self._events = state, events
        self._last_job = state.orders.last_job
        self._upstream = UpstreamJournal(state)
        self._polled = False

    def log_decision(self, event: AnyEvent, decision: Decision) -> None:
        """Log and publish the decision, which is durable."""
        if self._events is not None and self._events.readers:
            self._events.publish(decision)
        writer = _WRITERS.get(type(event))
        if writer is not None:
            writer(self._state, event, decision)
        elif isinstance(event, UpstreamPolled | Unreachable):
            self._observed(event, decision)
        elif isinstance(event, Submitted):
            self._upstream.submitted(event)
        elif type(event) is events.AlterReassignments and decision.cancelled:
            _cancelled(event, decision.cancelled)
        jobs = {change.id: change for change in decision.changes if type(change) is Job}
        for job in jobs.values():
            if job.id > self._last_job:
                self._last_job = job.id
                _accepted(job)
        for job in jobs.values():
            if job.ended_ms:
                self._ended(job)

    def _observed(self, event: UpstreamPolled | Unreachable, decision: Decision) -> None:
        if not self._polled and isinstance(event, UpstreamPolled):
            self._polled = True
            _resuming(self._state)
        self._upstream.observed(decision)

    def _ended(self, job: Job) -> None:
        endings = endings_of(self._state, job.id)
        outcomes = ((endings.get(ending, 0), PartState[ending.name].value) for ending in Ending)
        parts = ", ".join(f"{number} {how}" for number, how in outcomes if number)
        took = max(0, job.ended_ms - job.created_ms)
        time = f"{took} ms" if took < 1000 else f"{took // 1000} s"
        fields = {"job": job.id, "milliseconds": took}
        log.info(
            "job %d ended after %s: %s",
            job.id,
            time,
            parts,
            extra={"event": "job_ended", "fields": fields},
        )


def _accepted(job: Job) -> None:
    client = f" {job.client_id:.250}" if job.client_id else ""
    undone = f", takes back job {job.undoes}" if job.undoes else ""
    noun = "replica" if job.kind is JobKind.DISKS else "partition"
    size, verb = counted(job.total, noun), _ORDERS[job.kind]
    fields = {"job": job.id, "partitions": job.total, "principal": job.principal}
    what = {"event": f"job_{verb}", "fields": fields}
    log.info("job %d %s: %s, from %.250s%s%s", job.id, verb, size, job.principal, client, undone, extra=what)


def _moves_cancelled(_: State, event: disk_events.CancelMoves, d: Decision) -> None:
    if d.cancelled:
        what = counted(d.cancelled, "move") + " between log directories cancelled"
        fields = {"moves": d.cancelled, "principal": event.requester.principal}
        log.info(
            "%s, from %.250s",
            what,
            event.requester.principal,
            extra={"event": "moves_cancelled", "fields": fields},
        )


def _cancelled(event: events.AlterReassignments, partitions: int) -> None:
    client = f" {event.requester.client_id:.250}" if event.requester.client_id else ""
    fields = {"partitions": partitions, "principal": event.requester.principal}
    what = {"event": "partitions_cancelled", "fields": fields}
    log.info(
        "%s cancelled, from %.250s%s",
        counted(partitions, "partition"),
        event.requester.principal,
        client,
        extra=what,
    )


async def report_progress_periodically(state: State, clock: Clock) -> None:
    """Log the progress of the reassignments every `PROGRESS_SECONDS`, if it has changed."""
    last = ""
    while True:
        await clock.sleep(PROGRESS_SECONDS)
        line = progress(state)
        if line and line != last:
            log.info("%s", line, extra={"event": "progress"})
        last = line


def progress(state: State) -> str:
    """Return the progress of all running jobs in one line; empty if there is none."""
    left = sum(state.orders.open.values()) - len(state.disks.open)
    parts = []
    if state.disks.open:
        flying = sum(map(len, state.disks.flying.values()))
        what = counted(len(state.disks.open), "replica")
        parts.append(f"{what} left to move between log directories, {flying:,} moving")
    return ", ".join([*_progress_of_partitions(state, left), *parts] if left else parts)


def _progress_of_partitions(state: State, left: int) -> list[str]:
    total = sum(
        job.total
        for number in state.orders.open
        if (job := state.orders.jobs.get(number)) is not None and job.kind is not JobKind.DISKS
    )
    now = totals(state)
    parts = [f"{left:,} of {counted(max(left, total), 'partition')} left", f"{now.moving:,} moving"]
    if now.queued:
        parts.append(f"{now.queued:,} queued")
    if state.orders.paused:
        parts.append("paused")
    if now.waiting:
        parts.append(f"{now.waiting:,} waiting: {_reasons(state)}")
    if unlisted := sum(state.throttle.unlisted.values()):
        topics = {name for _, name, _ in state.throttle.unlisted}
        parts.append(
            f"{counted(unlisted, 'replica')} not throttled: full lists of {some(sorted(topics), NAMED)}"
        )
    return parts


def _reasons(state: State) -> str:
    reasons = Counter(islice(state.orders.waiting.values(), SAMPLE))
    return some([f"{text} ({number})" for text, number in reasons.most_common()], NAMED)


def _resuming(state: State) -> None:
    """Log the reassignments that the records have at a start."""
    now = totals(state)
    if now.ongoing:
        log.info(
            "resuming %s, %s in flight; %d waiting",
            counted(now.ongoing, "reassignment"),
            counted(now.moving, "step"),
            now.waiting,
            extra={"event": "resuming", "fields": {"reassignments": now.ongoing, "steps": now.moving}},
        )


def _controller_started(state: State, _: events.ControllerStarted, __: Decision) -> None:
    _resuming(state)
    lost = sorted(state.cluster.brokers.keys() - state.cluster.live)
    if lost:
        offline = counted(len(state.cluster.offline), "partition")
        what = {"event": "brokers_missing", "fields": {"brokers": lost}}
        log.warning("the records know %s not started: %s offline", _were(lost), offline, extra=what)


def _broker_started(state: State, event: events.BrokerStarted, _: Decision) -> None:
    broker = event.broker
    rack = f", rack {broker.rack}" if broker.rack else ""
    offline = counted(len(state.cluster.offline), "partition")
    what = {"event": "broker_registered", "fields": {"broker": broker.id}}
    place = Address(broker.host, broker.port)
    log.info("broker %d registered: %s%s; %s offline", broker.id, place, rack, offline, extra=what)


def _broker_stopped(state: State, event: events.BrokerStopped, d: Decision) -> None:
    if d.effects:
        what = {"event": "broker_lost", "fields": {"broker": event.broker}}
        offline = counted(len(state.cluster.offline), "partition")
        log.warning("broker %d lost: %s offline", event.broker, offline, extra=what)


def _log_dir_failed(_: State, event: events.LogDirFailed, __: Decision) -> None:
    failed = counted(len(event.partitions), "replica")
    what = {"event": "log_dir_failed", "fields": {"broker": event.broker}}
    log.warning("broker %d: a log directory failed with %s", event.broker, failed, extra=what)


def _stalled(_: State, event: events.Stalled, __: Decision) -> None:
    steps = counted(len(event.partitions), "step")
    what = {"event": "steps_stalled", "fields": {"steps": len(event.partitions)}}
    log.warning(
        "%s made no progress for too long: %s", steps, some([*map(str, event.partitions)], NAMED), extra=what
    )


def _paused(_: State, event: job_events.Pause, d: Decision) -> None:
    if d.reply.ok:
        what = "everything" if event.job is None else f"job {event.job}"
        verb = "paused" if event.paused else "resumed"
        log.info("%s %s", what, verb, extra={"event": verb, "fields": {"job": event.job}})


def _prioritized(_: State, event: job_events.Prioritize, d: Decision) -> None:
    if d.reply.ok:
        what = {"event": "job_priority", "fields": {"job": event.job, "priority": event.priority}}
        log.info("job %d has priority %d", event.job, event.priority, extra=what)


def _throttled(_: State, event: job_events.ThrottleJob, d: Decision) -> None:
    if d.reply.ok:
        what = {"event": "job_throttle", "fields": {"job": event.job, "throttle": event.throttle}}
        rate = f"a throttle of {in_rate(event.throttle)}" if event.throttle else "no throttle"
        log.info("job %d has %s of its own", event.job, rate, extra=what)


def _limited(state: State, event: job_events.LimitJob, d: Decision) -> None:
    if d.reply.ok:
        limits = limits_text(state.orders.jobs[event.job].limits)
        what = {"event": "job_limits", "fields": {"job": event.job, "limits": limits}}
        log.info("job %d has %s of its own", event.job, limits or "no limits", extra=what)


def _paced(state: State, _: PaceMeasured, __: Decision) -> None:
    """Log what has changed since the last reading."""
    for line in state.pace.pacer.log_lines():
        log.info("pace: %s", line)


def _configs_altered(_: State, __: events.AlterConfigs, d: Decision) -> None:
    changed = []
    for change in d.changes:
        if isinstance(change, Config):
            resource, name, config, value = change
            value = f"={value:.250}"
        elif isinstance(change, Deleted) and change.kind is Config:
            (resource, name, config), value = cast(ConfigName, change.key), " unset"
        else:
            continue
        where = f"{resource.name.lower()} {name}" if name else "cluster-wide"
        changed.append(f"{where} {config}{value}")
    if changed:
        log.info("configs changed: %s", some(changed, NAMED), extra={"event": "configs_changed"})


def _topics_created(_: State, event: events.CreateTopics, d: Decision) -> None:
    if not event.validate_only:
        created = [topic for topic in d.reply if topic.outcome.ok]
        if created:
            size = counted(sum(topic.partitions for topic in created), "partition")
            what = counted(len(created), "topic")
            names = some([topic.name for topic in created], NAMED)
            log.info("%s created: %s; %s", what, names, size, extra={"event": "topics_created"})


def _topics_deleted(state: State, _: events.DeleteTopics, d: Decision) -> None:
    kept = [row for row in d.reply if row[0] in state.cluster.topics]
    _named("deleted", [row for row in d.reply if row not in kept])
    _named("to be deleted when nothing of it moves and the brokers with its replicas are there", kept)


def _partitions_created(_: State, event: events.CreatePartitions, d: Decision) -> None:
    if not event.validate_only:
        _named("given more partitions", d.reply)


def _named(what: str, outcomes: Sequence[tuple[str, Outcome]]) -> None:
    names = [name for name, outcome in outcomes if outcome.ok]
    if names:
        topics = counted(len(names), "topic")
        log.info("%s %s: %s", topics, what, some(names, NAMED), extra={"event": "topics_changed"})


# A dict cannot say that a class has a function for its own events.
_WRITERS: dict[type, Callable[[State, Any, Decision], None]] = {
    events.ControllerStarted: _controller_started,
    events.BrokerStarted: _broker_started,
    events.BrokerStopped: _broker_stopped,
    events.LogDirFailed: _log_dir_failed,
    events.Stalled: _stalled,
    disk_events.CancelMoves: _moves_cancelled,
    job_events.Pause: _paused,
    job_events.Prioritize: _prioritized,
    job_events.ThrottleJob: _throttled,
    job_events.LimitJob: _limited,
    events.AlterConfigs: _configs_altered,
    PaceMeasured: _paced,
    events.CreateTopics: _topics_created,
    events.DeleteTopics: _topics_deleted,
    events.CreatePartitions: _partitions_created,
}


def _were(brokers: Iterable[int]) -> str:
    names = ", ".join(map(str, brokers))
    return f"brokers {names} that were" if "," in names else f"broker {names} that was"


class UpstreamJournal:
    """Logs decisions on polls and responses of the upstream."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._trouble = ""

    def observed(self, decision: Decision) -> None:
        """Log changes of the cluster's health, and the reassignments that became blocked."""
        self.trouble()
        reasons = grouped(
            (change.blocked, str(change.key))
            for change in decision.changes
            if type(change) is Reassignment and change.blocked
        )
        for reason, names in reasons.items():
            log.warning(
                "%s: %s; submit it again, cancel it, or resume its job",
                some(names, NAMED),
                reason,
                extra={"event": "partitions_blocked", "fields": {"partitions": len(names)}},
            )

    def trouble(self) -> None:
        """Log it when the health guard begins or ceases to hold steps."""
        now = self._state.gateway.health_problem
        if now and now != self._trouble and self._state.gateway.unreachable:
            what = {"event": "upstream_unreachable"}
            log.warning("nothing starts, the upstream cannot be polled: %s", now, extra=what)
        elif now and now != self._trouble:
            what = {"event": "cluster_unhealthy"}
            log.warning("the cluster is unhealthy, only steps that repair it start: %s", now, extra=what)
        elif self._trouble and not now:
            log.info("the health guard lets steps start again", extra={"event": "cluster_healthy"})
        self._trouble = now

    def submitted(self, event: Submitted) -> None:
        """Log the rows that the upstream refused, by reason."""
        refused = Counter(outcome.text for _, _, outcome in event.rows if outcome.error not in NOT_REFUSED)
        for reason, times in refused.most_common(NAMED):
            rows = counted(len(event.rows), "row")
            what = {"event": "rows_refused", "fields": {"rows": times}}
            log.warning("the upstream refused %d of %s: %s", times, rows, reason, extra=what)
