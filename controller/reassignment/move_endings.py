"""Ends of moves between log directories, also of those of deleted topics."""

from collections.abc import Iterator

from controller.model.disks import DiskMove, MoveStage
from controller.model.jobs import GONE
from controller.reassignment.reassignments import close_job
from controller.state.state import Decision

ROWS_PER_SLICE = 500
"""Other tasks run between two slices."""


def forget_moves(d: Decision, topic: str) -> Iterator[None]:
    """End the open moves of a topic that was deleted. A rollback must not move another topic of its name."""
    if topic not in d.state.disks.topics:
        return
    for of_job in list(d.state.disks.moves.values()):
        for seen, move in enumerate(list(of_job.values()), 1):
            if move.topic == topic and move.stage.is_open:
                end_move(d, move, MoveStage.TOPIC_DELETED)
            elif move.topic == topic and move.stage is MoveStage.DONE and not move.reason:
                d.put(move._replace(reason=GONE))
            if seen % ROWS_PER_SLICE == 0:
                yield


def end_move(d: Decision, move: DiskMove, stage: MoveStage, reason: str = "") -> None:
    """End the move, and its job if this was its last one."""
    d.put(move._replace(stage=stage, reason=reason))
    close_job(d, move.job)
