"""Moves between log directories as text and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from common.units import in_bytes
from common.wording import counted
from planner.proposals.disks.result import DirChange, DiskProposal
from planner.proposals.proposal_text import MOST_LINES, lines_by_reason

HEAD = ("broker", "directory", "size", "replicas", "used", "moves")


def as_dict(proposal: DiskProposal) -> dict[str, Any]:
    """Return all figures as JSON values, without the moves."""
    return {
        "moves": len(proposal.moves),
        "bytes": proposal.bytes,
        "bytes_bound": proposal.bytes_bound,
        "fewest_bytes_proven": proposal.fewest_bytes_proven,
        "dirs": [each._asdict() for each in proposal.dirs],
        "left_out": [each._asdict() for each in proposal.left_out],
        "short": list(proposal.short),
        "notes": list(proposal.notes),
    }


def summary(proposal: DiskProposal) -> list[str]:
    """Return the lines about all moves."""
    return [_head(proposal), *_first(proposal.short), *_first(proposal.notes), *_left_out(proposal)]


def _head(proposal: DiskProposal) -> str:
    if not proposal.moves:
        why = "nothing comes nearer to the goal" if proposal.short else "the directories meet the goal"
        return f"nothing to move: {why}"
    moved = (
        f"moves {counted(len(proposal.moves), 'replica')} between directories ({in_bytes(proposal.bytes)})"
    )
    if proposal.fewest_bytes_proven:
        return f"{moved}; nothing that comes as near to the goal copies fewer bytes"
    return (
        f"{moved}; nothing that comes as near to the goal copies fewer than {in_bytes(proposal.bytes_bound)}"
    )


def dir_rows(proposal: DiskProposal) -> Iterator[Sequence[str]]:
    """Yield the cells of HEAD for each directory."""
    for each in proposal.dirs:
        yield (
            f"{each.broker}",
            f"{each.path} (cordoned)" if each.cordoned else each.path,
            "-" if each.total is None else in_bytes(each.total),
            f"{each.replicas_before:,} → {each.replicas_after:,}",
            _used(each),
            f"+{each.gains:,} −{each.losses:,}",
        )


def _first(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:MOST_LINES]
    if len(lines) > MOST_LINES:
        yield f"and {counted(len(lines) - MOST_LINES, 'more line')} like these"


def _used(change: DirChange) -> str:
    """Return parts of the size, or bytes where this is not known or much larger."""
    if change.before is None or change.after is None:
        return "-"
    if change.total is None or 100 * max(change.before, change.after) < change.total:
        return f"{in_bytes(change.before)} → {in_bytes(change.after)}"
    parts = (100 * each / change.total for each in (change.before, change.after))
    return " → ".join(f"{each:.1f} %" for each in parts)


def _left_out(proposal: DiskProposal) -> Iterator[str]:
    """Return a line for each reason, with the first replicas."""
    names = (
        (each.reason, f"{each.topic}-{each.partition} on broker {each.broker}") for each in proposal.left_out
    )
    return lines_by_reason(names, "replica")
