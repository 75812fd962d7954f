"""How a step is carried out by an upstream Kafka: one row of its own AlterPartitionReassignments (KIP-455).

The partition's record says at once what the upstream is asked for; `UpstreamStep` says whether it was asked, and is durable before
the call. What came of it is seen by observation (`controller.upstream.polled`), never assumed. A step that is turned is
taken back first: what follows is planned from where that leads.
"""

from controller.configs.keys import BROKER_KEYS
from controller.configs.names import MAX_DISK_USAGE
from controller.configs.values import CLUSTER_DEFAULT
from controller.messages.effects import Elect, Submit
from controller.model.cluster import Partition, Replicas, ResourceType, TopicPartition, UpstreamStep
from controller.model.names import NO_LEADER
from controller.model.thresholds import Discrepancy
from controller.model.upstream_step import Stage
from controller.model.upstream_table import COMMANDS, Command
from controller.state.decision import Decision
from controller.state.state import State

ELECTS = False


def begin(d: Decision, partition: Partition, following: Replicas, _: Replicas, __: int = NO_LEADER) -> bool:
    """Ask for the step, or take back the one in flight; True when there is nothing to do.

    A step in flight is turned directly only to replicas that have all arrived: then it ends there at once. A row that
    adds others would leave what it adds, and a cancel after it what the first one added (Kafka's own override).
    Only a step that was not turned before is: what the upstream does if it misses a row must be known.
    """
    if partition.key in d.state.in_flight:
        known = d.state.upstream_steps.get(partition.key)
        if known is not None and known.stage is Stage.ENDED:
            _take_in(d, partition, known)
            return True
        if following == partition.next and not (known and known.in_flight):
            # Someone else moves it there already: Kafka takes the same row again for nothing new.
            _ask(d, partition, partition.current, following)
            return False
        arrived = {*partition.isr, *partition.current}
        if (
            known is None
            or known.replaced
            or known.stage not in {Stage.SUBMITTING, Stage.ACTIVE}
            or not set(following) <= arrived
            or set(following) == set(partition.current)
        ):
            undo(d, partition)
        else:
            _ask(d, partition, known.base, following, known.following)
        return False
    if following == partition.replicas:
        return True
    _ask(d, partition, partition.replicas, following)
    return False


def advance(d: Decision, partition: Partition, target: Replicas, preferred: int = NO_LEADER) -> bool:  # noqa: ARG001
    """Take over what the upstream shows, if the step is over; True then."""
    key = partition.key
    submission = d.state.upstream_steps.get(key)
    if submission is None or submission.stage is not Stage.ENDED:
        return False
    final = partition._replace(replicas=submission.following, adding=(), removing=())
    if _leads_not_yet(d, final, preferred):
        return False
    _take_in(d, partition, submission)
    return True


def can_turn(state: State, partition: Partition, kept: Replicas) -> bool:
    """Whether Kafka ends the step in flight at `kept`: at once, or by taking all of the step back.

    Kafka completes a step when all of its list is in sync; and a row that leaves nothing out does not turn it.
    """
    known = state.upstream_steps.get(partition.key)
    if known is None or known.replaced or known.stage not in {Stage.SUBMITTING, Stage.ACTIVE}:
        return False
    if set(kept) == set(partition.current):
        return True
    return set(kept) <= set(partition.isr) and not set(partition.replicas) <= set(kept)


def obstacle(state: State, partition: Partition, following: Replicas) -> str:
    """The partition is not where it was left, or a broker's disk has no room for what the step would bring."""
    expected = expected_replicas(state, partition.key)
    if partition.replicas != expected:
        return f"its replicas are {list(partition.replicas)}, where {list(expected)} were left"
    size = state.sizes.get(partition.key, 0)
    coming = (r for r in following if r not in partition.replicas)
    return next(filter(None, (_full(state, broker, size) for broker in coming)), "")


def expected_replicas(state: State, key: TopicPartition) -> Replicas:
    """The replicas of a partition with a reassignment and no step in flight, if nobody else changed them."""
    submission = state.upstream_steps.get(key)
    return state.reassignments[key].original if submission is None else submission.following


def ended(d: Decision, key: TopicPartition) -> None:
    """Nothing is kept of steps that are over; one in flight is followed to its end.

    One that was taken back is kept until Metadata shows it, so that nothing is concluded from what was before.
    """
    submission = d.state.upstream_steps.get(key)
    if submission is None:
        d.state.forget_sighting(key)
    elif not submission.in_flight and not submission.replaced:
        d.delete(UpstreamStep, key)


def send(d: Decision, key: TopicPartition, replicas: Replicas | None) -> None:
    """Have the row sent; until it is answered nothing is concluded from what is seen of the partition."""
    d.state.request_sent(key)
    d.emit(Submit(*key, replicas))


def undo(d: Decision, partition: Partition) -> None:
    """Take the step in flight back, whoever began it."""
    known = d.state.upstream_steps.get(partition.key)
    if known is None or not known.in_flight:
        known = UpstreamStep(*partition.key, partition.current, partition.next, Stage.SETTLED)
    elif known.stage in {Stage.UNDOING, Stage.UNDONE}:
        return
    stage = COMMANDS[known.stage, Command.UNDO]
    d.put(known._replace(stage=stage, epoch=max(known.epoch, partition.leader_epoch)))
    d.state.forget_sighting(partition.key)
    send(d, partition.key, None)


def _take_in(d: Decision, partition: Partition, submission: UpstreamStep) -> None:
    """The step is over: the partition is where it led."""
    d.state.forget_sighting(partition.key)
    replicas = submission.following
    isr = tuple(r for r in partition.isr if r in replicas)
    d.put(partition._replace(replicas=replicas, isr=isr, adding=(), removing=()))
    d.put(submission._replace(stage=COMMANDS[submission.stage, Command.TAKE_OVER]))


def _leads_not_yet(d: Decision, partition: Partition, preferred: int) -> bool:
    """The preferred leader could lead, does not, and was not waited for too long; it is asked for ever more rarely."""
    state, key = d.state, partition.key
    if partition.leader == preferred or preferred not in partition.isr or preferred not in state.live:
        return False
    if partition.replicas[0] != preferred:
        return False
    sighting = state.sighted(key, Discrepancy.NOT_LEADING, d.now_ms)
    if sighting.polls.bit_count() == 1:
        d.emit(Elect(*key))
    return not sighting.is_confirmed


def _full(state: State, broker: int, size: int) -> str:
    """Why so many bytes more are too much for the log directory in which the broker would put them."""
    disks = [disk for disk in state.disks.get(broker, ()) if disk.total > 0]
    if not disks or not size:
        return ""
    disk = min(disks, key=lambda each: (each.replicas, each.usable))
    mark = float(
        state.config(ResourceType.BROKER, CLUSTER_DEFAULT, MAX_DISK_USAGE)
        or BROKER_KEYS[MAX_DISK_USAGE].default
    )
    used = (disk.total - disk.usable + size + state.backlog.usage.bytes_to(broker)) / disk.total
    return (
        ""
        if used <= mark
        else f"broker {broker}: {disk.path} would be {used:.0%} full, {mark:.0%} is the most"
    )


def _ask(
    d: Decision, partition: Partition, base: Replicas, following: Replicas, replaced: Replicas = ()
) -> None:
    adding = tuple(r for r in following if r not in base)
    removing = tuple(r for r in base if r not in following)
    # A change of order alone is a step too, though nothing is added: it stays in flight until it is seen.
    d.put(partition._replace(replicas=following + removing, adding=adding, removing=removing))
    known = d.state.upstream_steps.get(partition.key)
    epoch = known.epoch if known is not None and replaced else partition.leader_epoch
    stage = COMMANDS[Stage.SETTLED if known is None else known.stage, Command.REQUEST]
    d.put(UpstreamStep(*partition.key, base, following, stage, replaced, epoch))
    d.state.forget_sighting(partition.key)
    send(d, partition.key, following)
