"""The effect of a solved problem on every broker."""

import numpy as np

from controller.model.replicas import Replicas
from planner.proposals.load_changes import load_changes
from planner.proposals.problem.arrays import Flags, Ints
from planner.proposals.problem.counts import topic_excess
from planner.proposals.problem.goal import Problem, ProblemRow
from planner.proposals.problem.layout import Layout
from planner.proposals.problem.nodes import own_rack
from planner.proposals.problem.table import IN_SYNC, Table, per_broker
from planner.proposals.result import BrokerChange, BrokerLoad, InSyncLoss, Proposal
from planner.proposals.solver.class_flow import new_replicas
from planner.proposals.solver.solve import Solution


def outcome(problem: Problem, solution: Solution) -> Proposal:
    """Return the proposal of a solution."""
    table = problem.table
    before = _padded(table.replicas, solution.lists.shape[1])
    after = before.copy()
    after[table.free] = solution.lists
    changed = (after != before).any(axis=1)
    if solution.elected is not None:
        changed[np.flatnonzero(table.free)[solution.elected]] = True
    new = new_replicas(before[changed], after[changed])
    excess, excess_after, topics, topics_after = _excess(problem, before, after)
    brokers = _brokers(problem, solution, before, after, changed)
    return Proposal(
        _changes(table, after, np.flatnonzero(changed)),
        int(new.sum()),
        int((new * table.bytes[changed]).sum()),
        int((after[changed][:, 0] != before[changed][:, 0]).sum()),
        excess,
        excess_after,
        brokers,
        (*problem.left_out, *solution.left_out),
        solution.widened,
        solution.moves_bound,
        solution.bytes_bound,
        topics,
        topics_after,
        _in_sync_loss(table, before[changed], after[changed], changed),
        _below_min_isr(table, before[changed], after[changed], changed),
        solution.notes,
        0 if solution.elected is None else int(solution.elected.sum()),
        load_changes(problem, after, np.where(changed, after[:, 0], table.led_by), brokers),
        solution.bytes_estimate,
        elects=solution.elected is not None,
    )


def _excess(problem: Problem, before: Ints, after: Ints) -> tuple[int, int, int, int]:
    """Return the excess of racks before and after the plan, then that of topics."""
    table = problem.table
    # Before the plan, drained brokers still count as places.
    lengths = np.union1d((before >= 0).sum(axis=1), (after >= 0).sum(axis=1)).tolist()
    present = Layout([node._replace(usable=True) for node in problem.nodes], table.brokers, lengths)
    racks, topics = present.total_excess(before[table.free]), _topic_excess(problem, before)
    if problem.goal.changes_order_only:
        return racks, racks, topics, topics
    layout = Layout(problem.nodes, table.brokers, lengths)
    return racks, layout.total_excess(after[table.free]), topics, _topic_excess(problem, after)


def _topic_excess(problem: Problem, lists: Ints) -> int:
    return topic_excess(problem.table.topic, lists, len(problem.table.brokers), len(problem.usable))


def _in_sync_loss(table: Table, before: Ints, after: Ints, changed: Flags) -> InSyncLoss:
    state = np.pad(table.state[changed], ((0, 0), (0, before.shape[1] - table.state.shape[1])))
    there, stays = before >= 0, (before[:, :, None] == after[:, None, :]).any(axis=2)
    in_sync = there & (state == IN_SYNC)
    kept, others = in_sync & stays, there & stays & ~in_sync
    lost = kept.sum(axis=1) + new_replicas(before, after) < in_sync.sum(axis=1)
    return InSyncLoss(int(lost.sum()), int((lost & others.any(axis=1)).sum()))


def _below_min_isr(table: Table, before: Ints, after: Ints, changed: Flags) -> int:
    enough = [(lists >= 0).sum(axis=1) >= table.min_isr[changed] for lists in (before, after)]
    return int((enough[0] & ~enough[1]).sum())


def _padded(lists: Ints, width: int) -> Ints:
    result = np.full((len(lists), max(width, lists.shape[1])), -1, np.int32)
    result[:, : lists.shape[1]] = lists
    return result


def _changes(table: Table, lists: Ints, rows: Ints) -> dict[ProblemRow, Replicas]:
    """Return the new lists of these rows, in order of topic and partition."""
    old, new = _tuples(table.brokers, table.replicas[rows]), _tuples(table.brokers, lists[rows])
    topics = [table.topics[topic] for topic in table.topic[rows].tolist()]
    numbers = (table.partition[rows].tolist(), old, table.factor[rows].tolist(), table.bytes[rows].tolist())
    return dict(zip(map(ProblemRow, topics, *numbers), new, strict=True))


def _tuples(brokers: Ints, lists: Ints) -> list[Replicas]:
    lengths = (lists >= 0).sum(axis=1).tolist()
    ids = brokers[lists].tolist()
    return [tuple(each[:length]) for each, length in zip(ids, lengths, strict=True)]


def _brokers(
    problem: Problem, solution: Solution, before: Ints, after: Ints, changed: Flags
) -> tuple[BrokerChange, ...]:
    table = problem.table
    size = len(table.brokers)
    old, new = before[changed], after[changed]
    arriving = np.where((new[:, :, None] == old[:, None, :]).any(axis=2), -1, new)
    leaving = np.where((old[:, :, None] == new[:, None, :]).any(axis=2), -1, old)
    gains, losses = per_broker(arriving, None, size).tolist(), per_broker(leaving, None, size).tolist()
    own = np.pad(table.own, ((0, 0), (0, before.shape[1] - table.own.shape[1])))
    sizes = np.repeat(table.bytes[:, None], before.shape[1], axis=1)
    sizes[~changed] = own[~changed]
    sizes[changed] = _sizes_after(old, own[changed], new, table.bytes[changed])
    loads_before, loads_after = _loads(table, before, own), _loads(table, after, sizes)
    known = {node.id: node for node in problem.nodes}
    return tuple(
        BrokerChange(
            broker,
            None if broker not in known or known[broker].rack == own_rack(broker) else known[broker].rack,
            loads_before[position],
            loads_after[position],
            gains[position],
            losses[position],
            solution.ranges.get(broker),
            broker in known and known[broker].live,
        )
        for broker, position in sorted(zip(table.brokers.tolist(), range(size), strict=True))
    )


def _sizes_after(old: Ints, own: Ints, new: Ints, copied: Ints) -> Ints:
    """Return the size of each replica of the new lists: its own one if it stays, else that of a copy."""
    same = (new[:, :, None] == old[:, None, :]) & (new >= 0)[:, :, None]
    kept = np.where(same, own[:, None, :], 0).sum(axis=2)
    sizes: Ints = np.where(same.any(axis=2), kept, copied[:, None])
    return sizes


def _loads(table: Table, lists: Ints, own: Ints) -> list[BrokerLoad]:
    size = len(table.brokers)
    replicas, sizes = per_broker(lists, None, size), per_broker(lists, own, size)
    leaders = np.bincount(lists[:, 0], minlength=size)
    return list(map(BrokerLoad, replicas.tolist(), leaders.tolist(), sizes.tolist()))
