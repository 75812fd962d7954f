"""Planning of a partition's next step: its replicas, its cost, and why it cannot start (KIP-435)."""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from common.wording import some
from controller.execution import direct_steps
from controller.model.cluster import NO_LEADER, Partition, Reassignment, Replicas, TopicPartition
from controller.model.configs import MAX_VALUE_BYTES
from controller.scheduling import steps
from controller.scheduling.buckets import Rank
from controller.scheduling.limits import Cost, capacities_of, shared_cost
from controller.state.state import Decision, State


class Plan(NamedTuple):
    """The next step of a partition and its cost, or the reason why it cannot start."""

    following: Replicas
    rank: Rank
    cost: Cost
    waits_for: str = ""
    """The reason to show to users; empty if the step can start."""


def plan_step(state: State, partition: Partition, reassignment: Reassignment) -> Plan:
    """Plan the next step of a partition that has none in flight."""
    target = reassignment.target
    following = following_step(state, partition, partition.current, reassignment)
    healthy = partition.leader != NO_LEADER and partition.key not in state.cluster.under_replicated
    cost = _step_cost(state, partition, following or partition.replicas, reassignment)
    job = state.orders.jobs.get(reassignment.job)
    rank = Rank(-job.priority if job is not None else 0, healthy, not cost.leads)
    waits_for = ""
    if partition.leader == NO_LEADER and set(partition.replicas) != set(target):
        waits_for = leader_waits(state, partition)
    elif following is None:
        waits_for = _why_no_step(state, partition, target)
    elif _elects(state, reassignment.job) and set(partition.replicas) == set(target):
        waits_for = _successor_waits(state, partition, target[0])
    if not waits_for and following is not None:
        waits_for = state.mode.executor.obstacle(state, partition, following)
    return Plan(following or partition.replicas, rank, cost, waits_for)


def _why_no_step(state: State, partition: Partition, target: Replicas) -> str:
    missing = [r for r in target if r not in partition.replicas and r not in state.cluster.live]
    if missing:
        return "offline: " + ", ".join(f"broker {r}" for r in missing)
    staying = tuple(r for r in target if r in partition.replicas)
    too_few = f"too few replicas are in sync (min.insync.replicas {state.settings.min_isr(partition.topic)})"
    return replicas_wait(state, partition, staying) or too_few


def _elects(state: State, job: int) -> bool:
    known = state.orders.jobs.get(job)
    return known is not None and known.elects


def awaits_election(state: State, partition: Partition, target: Replicas, job: int) -> bool:
    """Return whether the partition has the target's list, but not its leader, which the job is to elect."""
    elected = partition.replicas == target and _elects(state, job)
    return elected and partition.leader != target[0] and not _successor_waits(state, partition, target[0])


def only_elects(state: State, partition: Partition, reassignment: Reassignment) -> bool:
    """Return whether the reassignment has only to elect the preferred leader, and no cancel has led there."""
    if not reassignment.rolling_back or partition.moving or partition.replicas != reassignment.target:
        return False
    step = state.gateway.steps.get(partition.key)
    return _elects(state, reassignment.job) and (step is None or (step.restores and not step.replaced))


def _successor_waits(state: State, partition: Partition, broker: int) -> str:
    """Return why the broker cannot become the leader now; empty if it can."""
    if broker not in state.cluster.live:
        return f"offline: broker {broker}, which is to lead the partition"
    return "" if broker in partition.isr else f"not in sync: broker {broker}, which is to lead the partition"


def charge(state: State, partition: Partition, reassignment: Reassignment) -> None:
    """Count the step in flight against the limits."""
    cost = _step_cost(state, partition, partition.next, reassignment)
    state.backlog.charge(partition.key, cost)


def charge_external(state: State, partition: Partition) -> None:
    """Record a move by another client in `GatewayState.external`, and count it against the limits."""
    state.gateway.add_external(partition.key)
    state.backlog.charge(partition.key, _step_cost(state, partition, partition.next, None))


def release(state: State, key: TopicPartition) -> None:
    """Stop counting the partition's step against the limits: it has ended, or it is no longer known.

    If a poll then shows a move of the partition, that is counted again.
    """
    state.backlog.release(key)
    if key in state.gateway.external:
        state.gateway.discard_external(key)


def following_step(
    state: State, partition: Partition, current: Replicas, reassignment: Reassignment
) -> Replicas | None:
    """Return the list after the next step from `current`; None if no step is possible now."""
    target = reassignment.target
    step_led_by = partial(
        steps.next_step,
        current,
        target,
        isr=partition.isr,
        live=state.cluster.live,
        original=reassignment.original,
        min_isr=state.settings.min_isr(partition.topic),
        limit=state.backlog.usage.step_of(reassignment.job),
    )
    following = step_led_by(leader=partition.leader)
    if following == current != target and not state.mode.executor.ELECTS:
        # The list has the new leader first already, and its election was requested: do not wait for it.
        return step_led_by(leader=target[0])
    return following


def has_capacity(state: State, partition: Partition, following: Replicas, reassignment: Reassignment) -> bool:
    """Return whether the limits allow the step in flight to be turned to `following`."""
    return state.backlog.fits(partition.key, _step_cost(state, partition, following, reassignment))


def next_leader(state: State, partition: Partition, reassignment: Reassignment) -> int:
    """Return the broker that should lead when the step ends; NO_LEADER to keep the leader.

    A step that did not count as a leader movement when it started moves leadership only if limit L allows it.
    """
    usage = state.backlog.usage
    preferred = wanted_leader(state, reassignment)
    if preferred in {NO_LEADER, partition.leader}:
        return preferred
    cost = state.backlog.costs.get(partition.key)
    counted = cost is not None and cost.leads
    allowed = counted or not usage.exhausted(capacities_of(usage.leads_of(reassignment.job)))
    return preferred if allowed else NO_LEADER


def wanted_leader(state: State, reassignment: Reassignment) -> int:
    """Return who is to lead as soon as it can; NO_LEADER if the leader is to stay where it can."""
    if _elects(state, reassignment.job):
        return reassignment.target[0]
    return steps.preferred_leader(reassignment.target, state.backlog.usage.step_of(reassignment.job))


def _step_cost(
    state: State, partition: Partition, following: Replicas, reassignment: Reassignment | None
) -> Cost:
    """Return the cost of the step to `following`. Without a reassignment, it is a move by another client."""
    key = partition.key
    healthy = partition.leader != NO_LEADER and key not in state.cluster.under_replicated
    current = partition.current
    leader = steps.leader_after(
        current,
        following,
        isr=partition.isr,
        live=state.cluster.live,
        leader=partition.leader,
        preferred=NO_LEADER if reassignment is None else wanted_leader(state, reassignment),
    )
    adding = steps.step_lists(current, following).adding
    listed = 0 if reassignment is None else _listed(len(state.cluster.partitions[key.topic]), current, adding)
    return shared_cost(
        adding,
        partition.leader,
        leader != partition.leader,
        counted_size(state, key),
        not (state.mode.is_gateway and healthy),
        key.topic if listed else "",
        listed,
        0 if reassignment is None else state.backlog.usage.counted_job(reassignment.job),
    )


def counted_size(state: State, key: TopicPartition) -> int:
    """Return the bytes that count for each replica that a step of the partition adds, rounded up; 0 for none.

    Before the first measurement after a start, a replica counts as all bytes that may be on their way: steps
    in flight take some of them, and how many is not known.
    """
    size = state.cluster.copied_size(key)
    if size is None and state.awaits_sizes:
        return state.backlog.usage.limits.bytes
    return 1 << (size - 1).bit_length() if size else 0


def _listed(partitions: int, current: Replicas, adding: Replicas) -> int:
    """Return the bytes of the step's entries `partition:broker` in a throttle list of its topic, at most.

    The entries are those of the leader's or of the follower's list. The result is 0 if the list has room for
    all partitions of the topic, as it does for most topics.
    """
    if not adding:
        return 0
    entry = len(f"{partitions}:{max(*current, *adding)},")
    listed = entry * max(len(current), len(adding))
    return listed if listed * partitions > MAX_VALUE_BYTES else 0


MOST_BROKERS = 5
"""Brokers that one reason names."""


def step_waits(state: State, partition: Partition) -> str:
    """Return what keeps the step in flight from its end; empty while its replicas copy data."""
    if reason := leader_waits(state, partition):
        return reason
    if down := _absent(state.cluster.live, partition.adding):
        return f"target {_brokers(down)} {'are' if len(down) > 1 else 'is'} down"
    if any(r not in partition.isr for r in partition.adding):
        return ""
    return replicas_wait(state, partition, partition.next)


def leader_waits(state: State, partition: Partition) -> str:
    """Return which brokers the partition needs for a leader: new replicas have no one to copy from."""
    down = _absent(state.cluster.live, partition.isr)
    if partition.leader == NO_LEADER:
        return "the partition has no leader" + (f": {_brokers(down)} down" if down else "")
    if partition.leader not in state.cluster.live:
        return f"offline: broker {partition.leader}, which leads the partition"
    return ""


def replicas_wait(state: State, partition: Partition, staying: Replicas) -> str:
    """Return which replicas that stay are not in sync; empty if all are."""
    late = _absent(partition.isr, staying)
    if down := _absent(state.cluster.live, late):
        return f"offline: {_brokers(down)}, which keep{'s' * (len(down) == 1)} a replica"
    return f"not in sync: {_brokers(late)}, which keep{'s' * (len(late) == 1)} a replica" if late else ""


def _absent(members: Collection[int], brokers: Iterable[int]) -> list[int]:
    return [broker for broker in brokers if broker not in members]


def _brokers(numbers: list[int]) -> str:
    return f"broker{'s' * (len(numbers) > 1)} {some([str(number) for number in numbers], MOST_BROKERS)}"


def kept(partition: Partition, current: Replicas, target: Replicas) -> Replicas:
    """Return `current`, the list before the step in flight, plus the added replicas that are in sync."""
    return extended(current, [r for r in partition.adding if r in partition.isr], target)


def extended(current: Replicas, more: Sequence[int], target: Replicas) -> Replicas:
    """Return `current` with more replicas, those of the target first."""
    if not more:
        return current
    members = {*current, *more}
    rest = [r for r in (*current, *more) if r not in target]
    return tuple([r for r in target if r in members] + rest)


def keeps_up(state: State, partition: Partition, following: Replicas) -> bool:
    """Return whether turning the step in flight to `following` keeps min ISR, or drops no replica in sync."""
    members = {*partition.current, *following}
    in_sync = sum(r in members for r in partition.isr)
    enough = steps.keeps_up(in_sync, len(members), state.settings.min_isr(partition.topic))
    return enough or in_sync == len(partition.isr)


def is_refused(state: State, partition: Partition, following: Replicas) -> bool:
    """Return whether turning the step to `following` needs an unclean election and the topic forbids it."""
    return not direct_steps.keeps_data(partition, following) and not state.settings.unclean_allowed(
        partition.topic
    )


def may_start(d: Decision, job: int) -> bool:
    """Return whether a step of the job may start, as far as the limits allow it."""
    known = d.state.orders.jobs.get(job)
    return not d.is_stopped() and not (known is not None and known.paused)
