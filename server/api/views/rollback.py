"""The preview of a rollback, in numbers."""

from controller.model.cluster import Job
from controller.model.names import without
from controller.views.rollback import RollbackRow, rollback_rows
from server.api.call import Call
from server.api.models.jobs import RollbackPreview, Skipped
from server.api.models.shared import WaitingPartition

EXAMPLES = 100
"""Most partitions that are listed, of those that are skipped and of those that wait."""


async def rollback_preview(call: Call, job: Job) -> RollbackPreview:
    """Return what a rollback of the job would do now. Nothing is changed."""
    rows = await call.collect(rollback_rows(call.state, job))
    moving = [row for row in rows if row.replicas and not row.unmoved]
    skipped = [row for row in rows if row.reason]
    waiting = [row for row in moving if row.waits_for]
    withdrawn = sum(row.withdrawn for row in rows)
    unmoved = sum(row.unmoved for row in rows)
    return RollbackPreview(
        undoes=job.undoes or None,
        partitions=len(moving),
        bytes=sum(_bytes(call, row) for row in moving),
        unmoved=unmoved,
        withdrawn=withdrawn,
        unchanged=len(rows) - len(moving) - len(skipped) - withdrawn - unmoved,
        skipped=len(skipped),
        examples=[Skipped(*row.key, row.reason) for row in skipped[:EXAMPLES]],
        waiting_partitions=len(waiting),
        waiting=[WaitingPartition(*row.key, row.reached, row.waits_for) for row in waiting[:EXAMPLES]],
    )


def _bytes(call: Call, row: RollbackRow) -> int:
    partition = call.state.partition(*row.key)
    size = call.services.sizes.size(row.key)
    return 0 if partition is None or size is None else size * len(without(row.replicas, partition.current))
