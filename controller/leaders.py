"""ElectLeaders (43): preferred and unclean elections on request (KIP-183, KIP-460)."""

from collections.abc import Iterator

from controller.brokers import update
from controller.decision import Decision
from controller.election import with_leader
from controller.errors import DONE, Error, Outcome
from controller.events import ElectionType, ElectLeaders
from controller.model import NO_LEADER, Partition, TopicPartition

PARTITIONS_PER_SLICE = 1_000


def elect_leaders(d: Decision, event: ElectLeaders) -> Iterator[None]:
    """Elect where it is needed; asked for all, those that need none are left out of the reply."""
    rows: list[tuple[TopicPartition, Outcome]] = []
    keys = event.partitions
    for seen, key in enumerate(keys if keys is not None else [p.key for p in d.state.all_partitions()]):
        partition = d.state.partition(*key)
        if partition is None:
            rows.append((key, _refuse(Error.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {key}")))
            continue
        outcome = _ELECTIONS[event.election](d, partition)
        if keys is not None or outcome.error is not Error.ELECTION_NOT_NEEDED:
            rows.append((key, outcome))
        if seen % PARTITIONS_PER_SLICE == PARTITIONS_PER_SLICE - 1:
            yield
    d.reply = rows


def _preferred(d: Decision, partition: Partition) -> Outcome:
    preferred = partition.replicas[0]
    if partition.leader == preferred:
        return _refuse(Error.ELECTION_NOT_NEEDED, "The preferred leader leads already")
    able = preferred in d.state.live and preferred not in d.state.shutting_down
    if not able or preferred not in partition.isr:
        return _refuse(
            Error.PREFERRED_LEADER_NOT_AVAILABLE, f"The preferred leader {preferred} is not in the ISR"
        )
    update(d, partition, with_leader(partition, preferred, partition.isr))
    return DONE


def _unclean(d: Decision, partition: Partition) -> Outcome:
    if partition.leader != NO_LEADER:
        return _refuse(Error.ELECTION_NOT_NEEDED, "The partition has a leader")
    leader = next((r for r in partition.replicas if r in d.state.live), None)
    if leader is None:
        return _refuse(Error.ELIGIBLE_LEADERS_NOT_AVAILABLE, "No replica of the partition is alive")
    update(d, partition, with_leader(partition, leader, (leader,)))
    return DONE


def _refuse(error: Error, message: str) -> Outcome:
    return Outcome(error, message + ".")


_ELECTIONS = {ElectionType.PREFERRED: _preferred, ElectionType.UNCLEAN: _unclean}
