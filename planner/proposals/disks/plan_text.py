"""Moves between log directories as plans in the format of kafka-reassign-partitions.

Its rows name a directory for each replica, or `any` for one that stays where it is. Replicas do not change.
"""

import json
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from controller.model.plan import ANY, Entry, plan_of
from planner.proposals.disks.result import DirMove, DiskProposal


def plan_json(proposal: DiskProposal) -> str:
    """Return the plan."""
    return _text(_plan(proposal, attrgetter("target")))


def rollback_json(proposal: DiskProposal) -> str:
    """Return the plan that moves the replicas back."""
    return _text(_plan(proposal, attrgetter("source")))


def moves_json(moves: Sequence[DirMove]) -> str:
    """Return the moves themselves, as `GET /v1/proposals/{proposal}/moves` answers."""
    return _text({"moves": [move._asdict() for move in moves]})


def _plan(proposal: DiskProposal, path_of: Callable[[DirMove], str]) -> dict[str, Any]:
    entries = []
    for (topic, partition), moves in groupby(proposal.moves, lambda move: (move.topic, move.partition)):
        replicas = proposal.replicas[topic, partition]
        paths = {move.broker: path_of(move) for move in moves}
        entries.append(Entry(topic, partition, replicas, tuple(paths.get(each, ANY) for each in replicas)))
    return plan_of(entries)


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))
