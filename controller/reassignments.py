"""What is wanted of a partition, and the step that comes next (KIP-455, KIP-236; steps: KIP-435).

Each function is an action of the table in `controller.phases`, which says when it applies. They are given the
partition and its reassignment, and answer with an outcome; a refusal changes nothing.
"""

from controller import movement
from controller.decision import Decision
from controller.errors import DONE, Error, Outcome
from controller.model import NO_LEADER, Partition, Reassignment, Replicas
from planner.steps import next_step


def accept(d: Decision, partition: Partition, target: Replicas) -> Outcome:
    """A first order: remember the original and wait for a turn. Nothing to do is nothing remembered."""
    if target != partition.replicas:
        d.put(Reassignment(partition.topic, partition.partition, partition.replicas, target))
        d.state.queued.append(partition.key)
    return DONE


def retarget(d: Decision, partition: Partition, wanted: Reassignment, target: Replicas) -> Outcome:
    """A new order between two steps replaces the target; the original stays the first one."""
    if target != wanted.target:
        d.put(wanted._replace(target=target))
        settle(d, partition)
    return DONE


def redirect(d: Decision, partition: Partition, wanted: Reassignment, target: Replicas) -> Outcome:
    """A new order while a step is in flight turns that step; what only the old order added is dropped."""
    if target == wanted.target:
        return DONE
    following = _following(d, partition, target) or partition.current
    return _turn(d, partition, wanted._replace(target=target), following)


def roll_back(d: Decision, partition: Partition, wanted: Reassignment) -> Outcome:
    """Go back to the original, in its order (KIP-236); the step in flight is undone at once.

    Kafka's own cancel keeps the order that the target gave to common replicas; ours does not.
    """
    if wanted.rolling_back:
        return DONE
    back = wanted._replace(target=wanted.original)
    if not partition.moving:
        return retarget(d, partition, wanted, back.target)
    undone = back.target if set(partition.current) == set(back.target) else partition.current
    return _turn(d, partition, back, undone)


def start(d: Decision, partition: Partition, wanted: Reassignment) -> Outcome:
    """The partition's turn has come: begin its next step, or say why it waits."""
    following = _following(d, partition, wanted.target)
    reorder = set(partition.replicas) == set(wanted.target)
    if partition.leader == NO_LEADER and not reorder:
        d.state.waiting[partition.key] = "the partition has no leader"
    elif following is None:
        missing = [r for r in wanted.target if r not in partition.replicas and r not in d.state.live]
        d.state.waiting[partition.key] = "offline: " + ", ".join(f"broker {r}" for r in missing)
    elif movement.begin(d, partition, following, wanted.target):
        settle(d, partition)
    return DONE


def advance(d: Decision, partition: Partition, wanted: Reassignment) -> Outcome:
    """The ISR, the leader or a broker changed: the step in flight may be complete."""
    if movement.advance(d, partition, wanted.target):
        settle(d, partition)
    return DONE


def requeue(d: Decision, partition: Partition, _: Reassignment) -> Outcome:
    """What the step waited for may have come."""
    d.state.waiting.pop(partition.key, None)
    d.state.queued.append(partition.key)
    return DONE


def settle(d: Decision, partition: Partition) -> None:
    """No step is in flight: the reassignment is done, or waits for its next turn."""
    state = d.state
    key = partition.key
    wanted = state.reassignments[key]
    if state.partitions[key.topic][key.partition].replicas != wanted.target:
        state.queued.append(key)
        return
    d.delete(Reassignment, key)
    if key.topic not in state.moving and state.topics[key.topic].deleting:
        state.doomed.append(key.topic)


def _following(d: Decision, partition: Partition, target: Replicas) -> Replicas | None:
    """The next step from the last completed one, when nothing is in flight beyond it."""
    state = d.state
    return next_step(
        partition.current,
        target,
        isr=partition.isr,
        live=state.live,
        leader=partition.leader,
        min_isr=state.min_isr(partition.topic),
    )


def _turn(d: Decision, partition: Partition, wanted: Reassignment, following: Replicas) -> Outcome:
    """Turn the step in flight to `following`, unless that would lose the partition's data.

    With no replica alive a rollback cannot make it worse (KIP-236): it is done while every original is still in the
    list, and otherwise follows the step in flight.
    """
    state = d.state
    unclean = not movement.keeps_data(partition, following) and not state.unclean_allowed(partition.topic)
    if unclean and (not wanted.rolling_back or any(r in state.live for r in partition.replicas)):
        return Outcome(
            Error.INVALID_REPLICA_ASSIGNMENT,
            f"Unable to revert partition assignment for {partition.topic}:{partition.partition} "
            "because it would require an unclean leader election.",
        )
    d.put(wanted)
    if unclean and not set(wanted.original) <= set(partition.replicas):
        return DONE
    if movement.begin(d, partition, following, wanted.target):
        settle(d, partition)
    return DONE
