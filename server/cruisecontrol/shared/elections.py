"""A rebalance by `PreferredLeaderElectionGoal` alone: elect preferred leaders; no list changes."""

from collections.abc import Iterator

from msgspec.structs import replace

from controller.model.cluster import Partition
from controller.model.plan import Entry
from controller.model.tasks import job_client_id
from controller.state.state import State
from server.api.resources.jobs import submit_entries
from server.cruisecontrol.shared import results
from server.cruisecontrol.shared.answers import encode
from server.cruisecontrol.shared.call import CruiseControlCall
from server.cruisecontrol.shared.executions import make_way, turn_to_execute
from server.cruisecontrol.shared.goals import GOALS, Verdict
from server.cruisecontrol.shared.loads import Change, broker_rows
from server.cruisecontrol.shared.optimization import PlanParameters, job_options
from server.cruisecontrol.shared.results import Summary
from server.cruisecontrol.shared.tasks import RunningTask

GOAL = next(goal for goal in GOALS if goal.name == "PreferredLeaderElectionGoal")


async def elect_preferred(call: CruiseControlCall, given: PlanParameters, task: RunningTask) -> bytes:
    """Return the answer, after the elections were ordered if it is no dry run. Within limit L, as a job."""
    stops = 0 if given.dryrun else await make_way(call, stop=given.stop_ongoing_execution)
    entries = await call.call.collect(_entries(call.state))
    body = await _answer(call, given, entries)
    if given.dryrun:
        return body
    async with turn_to_execute(call, stops):
        await call.room.tasks.keep(task, body, executes=True)
        if entries:
            options = replace(job_options(given), elect=True)
            await submit_entries(call.of_task(job_client_id(task.id)), entries, options)
    return body


def _entries(state: State) -> Iterator[Entry | None]:
    """Yield the partitions that another replica leads than the preferred one; None for others."""
    for topic in list(state.cluster.partitions):
        for partition in list(state.cluster.partitions.get(topic, ())):
            elects = _elects(state, partition)
            yield Entry(partition.topic, partition.partition, partition.current) if elects else None


def _elects(state: State, partition: Partition) -> bool:
    preferred = partition.replicas[0] if partition.replicas else -1
    able = preferred in partition.isr and preferred in state.cluster.live
    free = not partition.moving and partition.key not in state.orders.reassignments
    return partition.leader != preferred and able and free


async def _answer(call: CruiseControlCall, given: PlanParameters, entries: list[Entry]) -> bytes:
    rows = await broker_rows(call.room.services, call.room.capacities())
    verdict = Verdict(GOAL, "FIXED" if entries else "NO-ACTION", before=bool(entries))
    numbers = Summary(0, 0, len(entries), 1, 100.0, [], 100.0, 100.0, "RIGHT_SIZED", "")
    summaries = results.goal_summaries([verdict], rows, len(call.state.cluster.partitions), 0)
    changes = [Change(each.topic, each.partition, each.replicas, each.replicas) for each in entries]
    return encode(results.result(numbers, summaries, (rows, rows), changes if given.verbose else None))
