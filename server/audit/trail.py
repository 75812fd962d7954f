"""Makes the entries of the audit log from the decisions of the driver."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from controller.messages import disk_events, events, held_events, job_events
from controller.messages.event import AnyEvent, Requester
from controller.messages.events import AlterScramCredentials
from controller.model.access import Acl, ScramCredential
from controller.model.audit import AuditAction, AuditEntry
from controller.model.cluster import Change, Deleted, ResourceType
from controller.model.configs import THROTTLE, ConfigOp
from controller.model.errors import Outcome
from controller.model.held_requests import HeldRequest
from controller.scheduling.limits import ALIASES, LETTERED
from controller.state.state import Decision, State
from server.audit.detail import LENGTH, NAMED, AuditDetail

Decide = Callable[[Decision, AnyEvent], Iterator[None]]


class _Made(NamedTuple):
    """What an entry says, without its number and time."""

    action: AuditAction
    requester: Requester
    job: int
    detail: AuditDetail


class AuditTrail:
    """Numbers and dates the entries. `last_id` and `last_ms` are those of the newest stored entry.

    Each entry is counted in `counts`, by its action.
    """

    def __init__(
        self, state: State, last_id: int = 0, last_ms: int = 0, counts: Counter[str] | None = None
    ) -> None:
        self._state = state
        self._last_id, self._last_ms = last_id, last_ms
        self.counts = Counter[str]() if counts is None else counts

    def audited(self, decide: Decide) -> Decide:
        """Return `decide` with the entry among the records of each decision that changes something."""

        def decide_audited(decision: Decision, event: AnyEvent) -> Iterator[None]:
            read = _BEFORE.get(type(event))
            before = {} if read is None else read(self._state, event)
            yield from decide(decision, event)
            if decision.changes and type(event) in _MAKERS:
                entry = self.entry(event, decision, before)
                if entry is not None:
                    decision.changes.append(entry)

        return decide_audited

    def entry(
        self, event: AnyEvent, decision: Decision, before: Mapping[str, str | None] = MappingProxyType({})
    ) -> AuditEntry | None:
        """Return the entry of the decision, which is complete but not durable; None if it needs none.

        `before` has the values before the decision, by config or `priority`.
        """
        make = _MAKERS.get(type(event))
        fields = None if make is None else make(self._state, event, decision)
        if fields is None:
            return None
        action, requester, job, detail = fields
        for name in before:
            # Of several configs, some may have been refused.
            if job or name in detail.configs:
                detail.before[name] = before[name]
        detail.via = requester.via
        self._last_id += 1
        # Searches by time need times that never decrease, also if the clock is set back.
        self._last_ms = max(self._last_ms, decision.now_ms)
        self.counts[action.value] += 1
        text = msgspec.json.encode(detail).decode()
        return AuditEntry(
            self._last_id, self._last_ms, action, requester.principal, requester.client_id, job, text
        )


def acl_detail(changes: Sequence[Change]) -> AuditDetail:
    """Return the ACLs among the changes: the first of them by name, and their number."""
    created = [change for change in changes if isinstance(change, Acl)]
    deleted = [
        change.key for change in changes if isinstance(change, Deleted) and isinstance(change.key, Acl)
    ]
    return AuditDetail(created=_named(created), deleted=_named(deleted), changed=len(created) + len(deleted))


def user_detail(changes: Sequence[Change]) -> AuditDetail:
    """Return the credentials among the changes: their iterations, None for removed ones."""
    values: dict[str, str | None] = {}
    for change in changes:
        match change:
            case ScramCredential():
                values[_name(*change.key)] = _value(change)
            case Deleted(_, (str(user), str(mechanism))):
                values[_name(user, mechanism)] = None
    return AuditDetail(configs=dict(islice(values.items(), NAMED)), changed=len(values))


def credentials_before(state: State, event: AlterScramCredentials) -> dict[str, str | None]:
    """Return the iterations of the credentials that the event would change; None where there are none."""
    keys = ((change.user, mechanism) for change in event.users for mechanism in change.credentials)
    return {_name(*key): _value(state.scram_credentials.get(key)) for key in keys}


def _named(acls: Iterable[Acl]) -> list[str]:
    return [_described(acl)[:LENGTH] for acl in islice(acls, NAMED)]


def _described(acl: Acl) -> str:
    resource = f"{acl.kind.name} {acl.name} ({acl.pattern.name})"
    return f"{acl.permission.name} {acl.operation.name} on {resource} to {acl.principal} from {acl.host}"


def _name(user: str, mechanism: str) -> str:
    return f"user {user[:LENGTH]}: {mechanism}"


def _value(credential: ScramCredential | None) -> str | None:
    return None if credential is None else f"iterations={credential.iterations}"


def _altered(state: State, event: events.AlterReassignments, decision: Decision) -> _Made | None:
    reply: job_events.AlterReply = decision.reply
    rows = sum(len(answer.rows) for answer in reply.topics)
    partitions = state.orders.jobs[reply.job].total if reply.job else 0
    if not reply.job and not decision.cancelled:
        return None
    action = AuditAction.ORDER if reply.job else AuditAction.CANCEL
    detail = AuditDetail(
        requested=rows,
        partitions=partitions,
        cancelled=decision.cancelled,
        throttle=event.throttle,
        priority=event.priority,
        paused=event.paused,
        **_topics(answer.topic for answer in reply.topics),
    )
    return _Made(action, event.requester, reply.job, detail)


def _moved(_: State, event: disk_events.MoveDisks, decision: Decision) -> _Made | None:
    reply: disk_events.MovesReply = decision.reply
    detail = AuditDetail(
        requested=len(event.moves),
        moves=len(event.moves),
        throttle=event.throttle,
        priority=event.priority,
        paused=event.paused,
        **_topics(row.topic for row in event.moves),
    )
    return _Made(AuditAction.ORDER, event.requester, reply.job, detail) if reply.job else None


def _moves_cancelled(_: State, event: disk_events.CancelMoves, decision: Decision) -> _Made | None:
    detail = AuditDetail(moves=decision.cancelled, cancelled=decision.cancelled)
    return _Made(AuditAction.CANCEL, event.requester, event.job or 0, detail) if decision.cancelled else None


def _queued(state: State, event: job_events.Queue, decision: Decision) -> _Made | None:
    reply: job_events.AlterReply = decision.reply
    if not reply.job:
        return None
    detail = AuditDetail(
        requested=sum(len(answer.rows) for answer in reply.topics),
        partitions=_total(state, reply.job),
        throttle=event.throttle,
        priority=event.priority,
        paused=event.paused,
        **_topics(answer.topic for answer in reply.topics),
    )
    return _Made(AuditAction.QUEUE, event.requester, reply.job, detail)


def _rolled_back(state: State, event: job_events.RollBackJob, decision: Decision) -> _Made | None:
    reply: job_events.RollBackReply = decision.reply
    if not reply.outcome.ok:
        return None
    total, is_of_moves = _total(state, reply.job), event.job in state.disks.moves
    detail = AuditDetail(
        partitions=0 if is_of_moves else total,
        moves=total if is_of_moves else 0,
        skipped=len(reply.skipped),
        rolled_back=event.job,
        cancelled=reply.cancelled,
    )
    return _Made(AuditAction.ROLLBACK, event.requester, reply.job, detail)


def _paused(state: State, event: job_events.Pause, decision: Decision) -> _Made | None:
    reply: Outcome = decision.reply
    action = AuditAction.PAUSE if event.paused else AuditAction.RESUME
    left = state.orders.open.get(event.job, 0) if event.job else sum(state.orders.open.values())
    return _Made(action, event.requester, event.job or 0, AuditDetail(left=left)) if reply.ok else None


def _prioritized(_: State, event: job_events.Prioritize, decision: Decision) -> _Made | None:
    reply: Outcome = decision.reply
    detail = AuditDetail(priority=event.priority)
    return _Made(AuditAction.PRIORITY, event.requester, event.job, detail) if reply.ok else None


def _throttled(_: State, event: job_events.ThrottleJob, decision: Decision) -> _Made | None:
    # Not an action of its own: instances of earlier versions read these entries.
    reply: Outcome = decision.reply
    detail = AuditDetail(configs={THROTTLE: _positive(event.throttle)})
    return _Made(AuditAction.LIMITS, event.requester, event.job, detail) if reply.ok else None


def _limited(_: State, event: job_events.LimitJob, decision: Decision) -> _Made | None:
    reply: Outcome = decision.reply
    changed = [each for each in LETTERED if each.field in event.changes]
    detail = AuditDetail(configs={each.config: _positive(event.changes[each.field]) for each in changed})
    return _Made(AuditAction.LIMITS, event.requester, event.job, detail) if reply.ok else None


def _configs_altered(_: State, event: events.AlterConfigs, decision: Decision) -> _Made | None:
    if event.validate_only:
        return None
    accepted = (
        resource
        for resource, outcome in zip(event.resources, decision.reply, strict=True)
        if outcome.ok and resource.resource is ResourceType.BROKER
    )
    configs = dict(_changed_configs(accepted))
    if not configs:
        return None
    return _Made(AuditAction.LIMITS, event.requester, 0, AuditDetail(configs=configs))


def _acls_changed(_: State, event: events.CreateAcls | events.DeleteAcls, decision: Decision) -> _Made | None:
    return _Made(AuditAction.ACLS, event.requester, 0, acl_detail(decision.changes))


def _users_altered(_: State, event: events.AlterScramCredentials, decision: Decision) -> _Made | None:
    return _Made(AuditAction.USERS, event.requester, 0, user_detail(decision.changes))


def _held(_: State, event: held_events.Hold, decision: Decision) -> _Made | None:
    return _reviewed(event.requester, [("held", decision.reply)])


def _decided(state: State, event: held_events.DecideHeld, decision: Decision) -> _Made | None:
    if decision.reply:
        return None
    decided = [("approved", number) for number in event.approved]
    decided += [("discarded", number) for number in event.discarded]
    rows = [(verb, state.held.by_id[number]) for verb, number in decided]
    return _reviewed(event.requester, rows, event.reason)


def _carried_out(_: State, event: held_events.SubmitHeld, decision: Decision) -> _Made | None:
    held: HeldRequest | str = decision.reply
    return None if isinstance(held, str) else _reviewed(event.requester, [("carried out", held)])


def _reviewed(requester: Requester, rows: Sequence[tuple[str, HeldRequest]], reason: str = "") -> _Made:
    """Return an entry about held requests, each with what was done."""
    texts = [f"{verb} {held.id} of {held.principal}: {held.asked}"[:LENGTH] for verb, held in rows[:NAMED]]
    detail = AuditDetail(reviewed=texts, changed=len(rows), reason=reason[:LENGTH])
    return _Made(AuditAction.REVIEW, requester, 0, detail)


def _priority_before(state: State, event: job_events.Prioritize) -> dict[str, str | None]:
    job = state.orders.jobs.get(event.job)
    return {} if job is None else {"priority": str(job.priority)}


def _throttle_before(state: State, event: job_events.ThrottleJob) -> dict[str, str | None]:
    job = state.orders.jobs.get(event.job)
    return {} if job is None else {THROTTLE: _positive(job.throttle)}


def _limits_before(state: State, event: job_events.LimitJob) -> dict[str, str | None]:
    job = state.orders.jobs.get(event.job)
    changed = [each for each in LETTERED if each.field in event.changes]
    return {} if job is None else {each.config: _positive(each.shown(job.limits)) for each in changed}


def _positive(value: int | None) -> str | None:
    """Return the value as it is recorded; None if there is none, or 0, for no throttle."""
    return str(value) if value else None


def _configs_before(state: State, event: events.AlterConfigs) -> dict[str, str | None]:
    values: dict[str, str | None] = {}
    for resource in event.resources:
        if resource.resource is ResourceType.BROKER:
            present = state.settings.configs.get((ResourceType.BROKER, resource.name), {})
            broker = f"broker {resource.name}: " if resource.name else ""
            for change in resource.changes:
                config = ALIASES.get(change.config, change.config)
                values[broker + config] = present[config][:LENGTH] if config in present else None
    return values


def _changed_configs(resources: Iterable[events.ResourceChanges]) -> Iterator[tuple[str, str | None]]:
    for resource in resources:
        broker = f"broker {resource.name}: " if resource.name else ""
        for change in resource.changes:
            value = None if change.op is ConfigOp.DELETE else (change.value or "")[:LENGTH]
            yield broker + ALIASES.get(change.config, change.config), value


def _total(state: State, job: int) -> int:
    return state.orders.jobs[job].total if job else 0


def _topics(topics: Iterable[str]) -> dict[str, Any]:
    names = dict.fromkeys(topics)
    return {"topics": list(islice(names, NAMED)), "topic_count": len(names)}


_MAKERS: dict[type, Callable[[State, Any, Decision], _Made | None]] = {
    events.AlterReassignments: _altered,
    events.AlterConfigs: _configs_altered,
    job_events.Queue: _queued,
    disk_events.MoveDisks: _moved,
    disk_events.CancelMoves: _moves_cancelled,
    job_events.RollBackJob: _rolled_back,
    job_events.Pause: _paused,
    job_events.Prioritize: _prioritized,
    job_events.ThrottleJob: _throttled,
    job_events.LimitJob: _limited,
    events.CreateAcls: _acls_changed,
    events.DeleteAcls: _acls_changed,
    events.AlterScramCredentials: _users_altered,
    held_events.Hold: _held,
    held_events.DecideHeld: _decided,
    held_events.SubmitHeld: _carried_out,
}


_BEFORE: dict[type, Callable[[State, Any], dict[str, str | None]]] = {
    events.AlterConfigs: _configs_before,
    job_events.Prioritize: _priority_before,
    job_events.ThrottleJob: _throttle_before,
    job_events.LimitJob: _limits_before,
    events.AlterScramCredentials: credentials_before,
}
"""Read what the event replaces, before its decision."""
