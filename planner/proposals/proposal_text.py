"""A proposal as text, as JSON, and as a plan file of kafka-reassign-partitions."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from common.lists import grouped
from common.units import in_bytes
from common.wording import counted, some
from controller.model.plan import Entry, plan_of
from planner.proposals.problem.goal import LeftOut, ProblemRow
from planner.proposals.result import BrokerChange, InSyncLoss, Lists, LoadChange, Proposal

MOST_LINES = 20
"""Most lines of one kind of note."""
HEAD = ("broker", "rack", "replicas", "leaders", "bytes", "moves")


def plan_json(lists: Lists) -> str:
    """Return a plan in the format of kafka-reassign-partitions, ordered by topic and partition."""
    return _text(_plan(lists))


def rollback_json(rows: Iterable[ProblemRow]) -> str:
    """Return the plan that restores the present replicas of these partitions."""
    return _text(_plan({row: row.replicas for row in rows}))


def as_dict(proposal: Proposal) -> dict[str, Any]:
    """Return all figures of a proposal as JSON values."""
    return {
        "partitions": len(proposal.changes),
        "moves": proposal.moves,
        "bytes": proposal.bytes,
        "moves_bound": proposal.moves_bound,
        "bytes_bound": proposal.bytes_bound,
        "fewest_moves_proven": proposal.fewest_moves_proven,
        "fewest_bytes_proven": proposal.fewest_bytes_proven,
        "leader_changes": proposal.leader_changes,
        "elections": proposal.elections,
        "elects": proposal.elects,
        "bytes_estimate": proposal.bytes_estimate,
        "loads": [_load_dict(each) for each in proposal.loads],
        "in_sync_loss": proposal.in_sync_loss._asdict(),
        "below_min_isr": proposal.below_min_isr,
        "rack_excess": {"before": proposal.rack_excess_before, "after": proposal.rack_excess_after},
        "topic_excess": {"before": proposal.topic_excess_before, "after": proposal.topic_excess_after},
        "brokers": [_broker_dict(each) for each in proposal.brokers],
        "left_out": [each._asdict() for each in proposal.left_out],
        "notes": list(proposal.notes),
        "plan": _plan(proposal.changes),
    }


def summary(proposal: Proposal) -> list[str]:
    """Return the lines about the whole plan."""
    if not proposal.changes:
        scope = "the other partitions meet" if proposal.left_out else "the cluster meets"
        why = "no plan comes nearer to" if proposal.partial else scope
        return [f"nothing to move: {why} the goal", *_notes(proposal)]
    moved = f"moves {counted(proposal.moves, 'replica')} ({in_bytes(proposal.bytes)})"
    if proposal.fewest_moves_proven:
        moved += "; no plan can do with fewer"
    elif proposal.moves_bound:
        moved += f"; no plan can do with fewer than {proposal.moves_bound:,}"
    if not proposal.moves:
        dropped = sum(each.losses for each in proposal.brokers)
        what = f"drops {counted(dropped, 'replica')}" if dropped else "only the order of replicas changes"
        moved = f"moves no replica; {what}"
    changed = counted(len(proposal.changes) - proposal.elections, "partition")
    leaders = counted(proposal.leader_changes, "preferred leader")
    lines = [moved, f"changes the replica lists of {changed}, and {leaders}"]
    if proposal.elections:
        lines.append(f"elects the preferred leader of {counted(proposal.elections, 'further partition')}")
    if (loss := proposal.in_sync_loss).partitions:
        lines.append(f"{counted(loss.partitions, 'partition')} would lose a replica in sync{_others(loss)}")
    if below := proposal.below_min_isr:
        lines.append(
            f"{counted(below, 'partition')} would have fewer replicas than min.insync.replicas: producers"
            " with acks=all could not write"
        )
    if proposal.rack_excess_before or proposal.rack_excess_after:
        lines.append(
            f"racks: {counted(proposal.rack_excess_before, 'replica')} against the rack rule before, "
            f"{proposal.rack_excess_after:,} after"
        )
    if proposal.topic_excess_before or proposal.topic_excess_after:
        lines.append(
            f"topics: {counted(proposal.topic_excess_before, 'replica')} above the even share of a topic on"
            f" a broker before, {proposal.topic_excess_after:,} after"
        )
    return [*lines, *_notes(proposal)]


def _others(loss: InSyncLoss) -> str:
    if not loss.keeping_others:
        return ""
    keep = "keeps" if loss.keeping_others == 1 else "keep"
    return f", {loss.keeping_others:,} of them {keep} one that is not in sync"


def broker_rows(proposal: Proposal) -> Iterator[Sequence[str]]:
    """Yield the cells of HEAD for each broker."""
    for each in proposal.brokers:
        before, after = each.before, each.after
        yield (
            f"{each.broker}" if each.live else f"{each.broker} (offline)",
            each.rack or "-",
            f"{before.replicas:,} → {after.replicas:,}",
            f"{before.leaders:,} → {after.leaders:,}",
            f"{in_bytes(before.bytes)} → {in_bytes(after.bytes)}",
            f"+{each.gains:,} −{each.losses:,}",
        )


def _notes(proposal: Proposal) -> Iterator[str]:
    yield from _load_lines(proposal)
    yield from proposal.notes
    if proposal.widened:
        yield (
            "the limit on moves leaves the counts less even: each broker may be "
            f"{counted(proposal.widened, 'replica')} further from its range"
        )
    for each in proposal.uneven[:MOST_LINES]:
        if each.wanted is not None and not proposal.widened:
            yield (
                f"broker {each.broker} gets {each.after.replicas:,} replicas instead of"
                f" {each.wanted.least:,} to {each.wanted.most:,}: its partitions have no other place"
            )
    yield from left_out_lines(proposal.left_out)


def left_out_lines(partitions: Iterable[LeftOut]) -> Iterator[str]:
    """Return a line for each reason, with the first partitions."""
    return lines_by_reason(
        ((each.reason, f"{each.topic}-{each.partition}") for each in partitions), "partition"
    )


def lines_by_reason(left_out: Iterable[tuple[str, str]], noun: str) -> Iterator[str]:
    """Yield a line for each reason, with the first names; `left_out` are reasons and names."""
    for reason, names in list(grouped(left_out).items())[:MOST_LINES]:
        yield f"left out, {reason}: {counted(len(names), noun)}: {some(names)}"


def _broker_dict(change: BrokerChange) -> dict[str, Any]:
    return {
        "broker": change.broker,
        "rack": change.rack,
        "live": change.live,
        "before": change.before._asdict(),
        "after": change.after._asdict(),
        "gains": change.gains,
        "losses": change.losses,
        "wanted": None if change.wanted is None else change.wanted._asdict(),
    }


def _load_dict(change: LoadChange) -> dict[str, Any]:
    return {
        "load": change.load,
        "highest": dict(zip(("before", "after"), change.highest, strict=True)),
        "lowest": dict(zip(("before", "after"), change.lowest, strict=True)),
        "wanted": change.wanted,
        "brokers": [each._asdict() for each in change.brokers],
    }


def _load_lines(proposal: Proposal) -> Iterator[str]:
    """Yield a line for each load, and for each broker that stays outside of a range."""
    for change in proposal.loads:
        before, after = change.highest
        yield (
            f"{change.load}: {before:.2f} of the fair share on the fullest broker, then {after:.2f} (wanted:"
            f" {change.wanted:.2f}); {change.lowest[0]:.2f} on the emptiest, then {change.lowest[1]:.2f}"
        )
        outside = change.outside
        yield from outside[:MOST_LINES]
        if len(outside) > MOST_LINES:
            more = counted(len(outside) - MOST_LINES, "more broker")
            yield f"and {more} outside of the range of {change.load}"
    if proposal.bytes_bound and proposal.loads and proposal.bytes:
        about = f"; about {in_bytes(proposal.bytes_estimate)} if replicas could be divided"
        bound = f"no plan within the ranges copies fewer than {in_bytes(proposal.bytes_bound)}"
        yield bound + (about if proposal.bytes_estimate else "")


def _plan(lists: Lists) -> dict[str, Any]:
    return plan_of(Entry(row.topic, row.partition, replicas) for row, replicas in lists.items())


def _text(plan: dict[str, Any]) -> str:
    return json.dumps(plan, separators=(",", ":"))
