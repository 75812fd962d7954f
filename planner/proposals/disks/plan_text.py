"""Moves between log directories as plans in the format of kafka-reassign-partitions.

Its rows name a directory for each replica, or `any` for one that stays where it is. Replicas do not change.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from controller.model.plan import ANY, Entry, plan_of
from planner.proposals.disks.result import DirMove, DiskProposal


def plan_json(proposal: DiskProposal) -> str:
    """Return the plan."""
    return _text(_plan(proposal, {move: move.target for move in proposal.moves}))


def rollback_json(proposal: DiskProposal) -> str:
    """Return the plan that moves the replicas back."""
    return _text(_plan(proposal, {move: move.source for move in proposal.moves}))


def moves_json(moves: Sequence[DirMove]) -> str:
    """Return the moves themselves, as `GET /v1/proposals/{proposal}/moves` answers."""
    return _text({"moves": [move._asdict() for move in moves]})


def _plan(proposal: DiskProposal, dirs: Mapping[DirMove, str]) -> dict[str, Any]:
    entries = []
    for (topic, partition), moves in groupby(proposal.moves, lambda move: (move.topic, move.partition)):
        replicas = proposal.replicas[topic, partition]
        dir_of = {move.broker: dirs[move] for move in moves}
        entries.append(Entry(topic, partition, replicas, tuple(dir_of.get(each, ANY) for each in replicas)))
    rows = plan_of(entries)
    for row, entry in zip(rows["partitions"], entries, strict=True):
        row["log_dirs"] = list(entry.log_dirs)
    return rows


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))
