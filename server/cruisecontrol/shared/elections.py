"""A rebalance by `PreferredLeaderElectionGoal` alone: elect preferred leaders; no list changes."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from controller.model.cluster import Partition
from controller.model.plan import Entry
from controller.model.tasks import job_client_id
from controller.state.state import State
from server.api.resources.jobs import submit_entries
from server.cruisecontrol.shared import results
from server.cruisecontrol.shared.call import CruiseControlCall
from server.cruisecontrol.shared.executions import make_way, turn_to_execute
from server.cruisecontrol.shared.goals import Verdict, goal_of
from server.cruisecontrol.shared.loads import Change, broker_rows, elected_rows, led_by
from server.cruisecontrol.shared.patterns import chosen_topics
from server.cruisecontrol.shared.plan_parameters import PlanParameters, check_parameters, job_options
from server.cruisecontrol.shared.results import Summary
from server.cruisecontrol.shared.tasks import RunningTask

GOAL = goal_of("PreferredLeaderElectionGoal")


class _WrongLeader(NamedTuple):
    """A partition that another replica leads than the preferred one."""

    entry: Entry
    leader: int
    able: bool
    """Whether the preferred replica can be elected now."""


async def elect_preferred(call: CruiseControlCall, given: PlanParameters, task: RunningTask) -> bytes:
    """Return the answer, after the elections were ordered if it is no dry run. Within limit L, as a job."""
    check_parameters(given)
    excluded = await chosen_topics(call, given.excluded_topics) if given.excluded_topics else ()
    stops = 0 if given.dryrun else await make_way(call, stop=given.stop_ongoing_execution)
    wrong = await call.call.collect(_wrong_leaders(call.state, excluded))
    body = await _answer(call, given, wrong)
    if given.dryrun:
        return body
    async with turn_to_execute(call, stops):
        await call.context.tasks.keep(task, body, executes=True)
        if entries := [each.entry for each in wrong if each.able]:
            await submit_entries(call.of_task(job_client_id(task.id)), entries, job_options(given))
    return body


def _wrong_leaders(state: State, excluded: Collection[str]) -> Iterator[_WrongLeader | None]:
    """Yield the partitions that another replica leads than the preferred one; None for others."""
    for topic in [each for each in state.cluster.partitions if each not in excluded]:
        for partition in list(state.cluster.partitions.get(topic, ())):
            preferred = partition.replicas[0] if partition.replicas else -1
            if partition.leader == preferred:
                yield None
                continue
            entry = Entry(partition.topic, partition.partition, partition.current)
            yield _WrongLeader(entry, partition.leader, _can_elect(state, partition, preferred))


def _can_elect(state: State, partition: Partition, preferred: int) -> bool:
    in_sync = preferred in partition.isr and preferred in state.cluster.live
    free = not partition.moving and partition.key not in state.orders.reassignments
    return partition.leader >= 0 and in_sync and free


async def _answer(call: CruiseControlCall, given: PlanParameters, wrong: Sequence[_WrongLeader]) -> bytes:
    before = await broker_rows(call.context)
    topics = len(call.state.cluster.partitions)

    def compute() -> bytes:
        changes = [_change(each) for each in wrong if each.able]
        after = elected_rows(before, changes, call.context.services.load)
        left = len(wrong) - len(changes)
        verdict = Verdict(
            GOAL, "VIOLATED" if left else "FIXED" if changes else "NO-ACTION", before=bool(wrong)
        )
        numbers = _summary(given, len(changes), left, verdict)
        summaries = results.goal_summaries([verdict], after, topics, 0)
        return results.result(numbers, summaries, (before, after), changes if given.verbose else None)

    return await call.call.off_loop.run(compute)


def _summary(given: PlanParameters, elections: int, left: int, verdict: Verdict) -> Summary:
    note = f"preferred leaders of {left} partitions are not in sync, or being moved"
    numbers = results.judged([verdict], given.excluded, [note] if left else ())
    numbers.num_leader_movements = elections
    return numbers


def _change(wrong: _WrongLeader) -> Change:
    topic, partition, replicas, _ = wrong.entry
    return led_by(Change(topic, partition, replicas, replicas), wrong.leader)
