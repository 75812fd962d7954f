"""The next step of a partition: what it is, what it takes, and why it cannot start (KIP-435)."""

from typing import NamedTuple

from controller.execution.executor import executor_of
from controller.model.cluster import NO_LEADER, Partition, Reassignment, Replicas, TopicPartition
from controller.scheduling import steps
from controller.scheduling.buckets import Rank
from controller.scheduling.limits import Cost, cost_of
from controller.state.state import State


class Plan(NamedTuple):
    """A partition's next step and what it takes, or why there is none."""

    following: Replicas
    rank: Rank
    cost: Cost
    waits_for: str = ""


def plan_step(state: State, partition: Partition, wanted: Reassignment) -> Plan:
    """The next step of a partition that has none in flight."""
    target = wanted.target
    following = following_step(state, partition, partition.current, target)
    healthy = partition.leader != NO_LEADER and partition.key not in state.under_replicated
    cost = _cost(state, partition, following or partition.replicas, _preferred(state, target))
    job = state.jobs.get(wanted.job)
    rank = Rank(-job.priority if job is not None else 0, healthy, not cost.leads)
    waits_for = ""
    if partition.leader == NO_LEADER and set(partition.replicas) != set(target):
        waits_for = "the partition has no leader"
    elif following is None:
        missing = [r for r in target if r not in partition.replicas and r not in state.live]
        floor = f"too few replicas are in sync (min.insync.replicas {state.min_isr(partition.topic)})"
        waits_for = "offline: " + ", ".join(f"broker {r}" for r in missing) if missing else floor
    else:
        waits_for = executor_of(state).obstacle(state, partition, following)
    return Plan(following or partition.replicas, rank, cost, waits_for)


def charge(state: State, partition: Partition, wanted: Reassignment) -> None:
    """Count the step in flight against the limits."""
    state.backlog.charge(
        partition.key, _cost(state, partition, partition.next, _preferred(state, wanted.target))
    )


def charge_external(state: State, partition: Partition) -> None:
    """Note a move that no reassignment wants (`State.external`), and count it against the limits."""
    state.add_external(partition.key)
    state.backlog.charge(partition.key, _cost(state, partition, partition.next, NO_LEADER))


def release(state: State, key: TopicPartition) -> None:
    """No step is in flight, or not one that is known: nothing of it counts, so that the next one that is seen does."""
    state.backlog.release(key)
    state.discard_external(key)


def following_step(
    state: State, partition: Partition, current: Replicas, target: Replicas
) -> Replicas | None:
    """The next step from the last completed one."""

    def led_by(leader: int) -> Replicas | None:
        return steps.next_step(
            current,
            target,
            isr=partition.isr,
            live=state.live,
            leader=leader,
            min_isr=state.min_isr(partition.topic),
            limit=state.backlog.usage.limits.step,
        )

    following = led_by(partition.leader)
    if following == current != target and not executor_of(state).ELECTS:
        # The list has the new leader first already, and its election was asked for: go on without waiting for it.
        return led_by(target[0])
    return following


def has_room(state: State, partition: Partition, following: Replicas, target: Replicas) -> bool:
    """Whether the step in flight could be turned to `following` within the limits."""
    return state.backlog.fits(partition.key, _cost(state, partition, following, _preferred(state, target)))


def _cost(state: State, partition: Partition, following: Replicas, preferred: int) -> Cost:
    key = partition.key
    well = partition.leader != NO_LEADER and key not in state.under_replicated
    return cost_of(
        partition,
        following,
        leads=_moves_leader(state, partition, following, preferred),
        size=state.sizes.get(key, 0),
        repairs=not (state.profile.has_upstream and well),
    )


def _moves_leader(state: State, partition: Partition, following: Replicas, preferred: int) -> bool:
    after = steps.leader_after(
        partition.current,
        following,
        isr=partition.isr,
        live=state.live,
        leader=partition.leader,
        preferred=preferred,
    )
    return after != partition.leader


def preferred_leader(state: State, partition: Partition, wanted: Reassignment) -> int:
    """Who is to lead when the step ends, NO_LEADER when no change is asked for.

    A step that was not expected to move leadership does so only where limit L has room for it.
    """
    preferred = _preferred(state, wanted.target)
    may = preferred == partition.leader or state.backlog.may_lead(partition.key)
    return preferred if may else NO_LEADER


def _preferred(state: State, target: Replicas) -> int:
    return steps.preferred_leader(target, state.backlog.usage.limits.step)
