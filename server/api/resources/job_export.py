"""The partitions of a job as files: CSV, JSON, and the plan that restores the replicas before the job."""

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct
from starlette.responses import Response

from controller.model.jobs import Job, JobKind
from controller.model.plan import Plan, PlanRow
from controller.views.jobs import PartState, parts
from server.api.shared.answers import streamed, streamed_text
from server.api.shared.call import Call, Endpoint
from server.api.shared.disk_moves import move_rows, rows_back
from server.api.shared.job_parts import Part, part_row
from server.api.shared.job_rows import job_of

CSV = "text/csv"
_COLUMNS = (
    "topic",
    "partition",
    "state",
    "original",
    "target",
    "replicas",
    "leader",
    "bytes",
    "copied",
    "reason",
    "move_broker",
    "move_source",
    "move_target",
)

CsvFile: TypeAlias = Annotated[
    str,
    Meta(
        title="CsvFile",
        description=f"The columns {', '.join(_COLUMNS)}; broker ids are separated by spaces, and what is not"
        " known is empty.",
    ),
]


class JobParts(Struct):
    """All partitions of a job."""

    job: int
    partitions: list[Part]


async def as_csv(call: Call) -> Response:
    """Stream the partitions as CSV (RFC 4180), in the order of `/v1/jobs/{job}`."""
    job = job_of(call)
    rows = (row if row is None else _line(_cells(row)) for row in await _rows(call, job))
    return _file(streamed_text(_line(_COLUMNS), rows, f"{CSV}; charset=utf-8"), f"job-{job.id}.csv")


async def as_json(call: Call) -> Response:
    """Stream the partitions as one JSON document."""
    job = job_of(call)
    return _file(streamed(JobParts(job.id, []), await _rows(call, job)), f"job-{job.id}.json")


async def rollback_plan(call: Call) -> Response:
    """Stream the plan that restores what the partitions had before the job: replicas, or directories.

    Partitions that another job has taken over, and those of deleted topics, are not in it.
    """
    job = job_of(call)
    rows = rows_back(call.state, job.id) if job.kind is JobKind.DISKS else _originals(call, job.id)
    return _file(streamed(Plan(partitions=[]), rows), f"rollback-{job.id}.json")


async def _rows(call: Call, job: Job) -> Iterator[Part | None]:
    if job.kind is JobKind.DISKS:
        return await move_rows(call, job.id)
    return (None if part is None else part_row(call, part) for part in parts(call.state, job.id))


def _originals(call: Call, number: int) -> Iterator[PlanRow | None]:
    gone = {PartState.TAKEN, PartState.TOPIC_DELETED}
    for part in parts(call.state, number):
        if part is None or part.state in gone or not part.replicas:
            yield None
        else:
            yield PlanRow(part.topic, part.partition, part.original)


def _cells(row: Part) -> Sequence[object]:
    lists = (" ".join(map(str, each)) for each in (row.original, row.target, row.replicas))
    known = (each for each in (row.leader, row.bytes, row.copied))
    move = ("", "", "") if row.move is None else (row.move.broker, row.move.source, row.move.target)
    return (row.topic, row.partition, row.state.value, *lists, *known, row.reason, *move)


def _line(values: Sequence[object]) -> str:
    line = StringIO()
    csv.writer(line).writerow(values)
    return line.getvalue()


def _file(answer: Response, name: str) -> Response:
    answer.headers["content-disposition"] = f'attachment; filename="{name}"'
    return answer


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/jobs/{job}/partitions.csv",
        "Get all partitions of a job as CSV.",
        as_csv,
        CsvFile,
        media_type=CSV,
    ),
    Endpoint(
        "GET",
        "/v1/jobs/{job}/partitions.json",
        "Get all partitions of a job as one JSON document.",
        as_json,
        JobParts,
    ),
    Endpoint(
        "GET",
        "/v1/jobs/{job}/rollback.json",
        "Get the plan that restores the replicas, or their directories, from before the job.",
        rollback_plan,
        Plan,
    ),
)
