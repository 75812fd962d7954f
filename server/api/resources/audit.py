"""`/v1/audit`: the accepted requests and their principals, newest first, and the whole log as JSON lines."""

from collections.abc import AsyncIterator
from difflib import get_close_matches
from typing import Annotated, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import StreamingResponse

from common.json.models import decode_foreign
from controller.model.audit import AuditAction, AuditEntry, AuditFilter, AuditLogError
from server.api.shared.call import Call, Endpoint
from server.api.shared.errors import HttpError
from server.api.shared.models import Error
from server.api.shared.process import AuditLog
from server.audit.detail import AuditDetail

AuditActionName: TypeAlias = Literal[
    "order", "queue", "cancel", "rollback", "pause", "resume", "limits", "priority", "acls", "users", "review"
]

T = TypeVar("T")


class AuditRow(Struct):
    """An accepted request."""

    id: Annotated[int, Meta(description="Increases with each entry.")]
    time_ms: Annotated[int, Meta(description="Milliseconds since 1970; never decreases.")]
    action: AuditActionName
    principal: Annotated[
        str,
        Meta(
            description="`User:` and the name of a Kafka principal, a token or a certificate; or "
            "`Local:` and a login name."
        ),
    ]
    client_id: Annotated[str | None, Meta(description="The Kafka client id, or the user agent of HTTP.")]
    job: Annotated[int | None, Meta(description="The job that the request created or changed.")]
    detail: AuditDetail


class Audit(Struct):
    """A page of the audit log."""

    entries: list[AuditRow]
    next: Annotated[int | None, Meta(description="`before` of the next page; null if there is none.")]


class AuditMatch(Struct, forbid_unknown_fields=True):
    """Query parameters that select entries."""

    action: Annotated[str, Meta(description="Actions, separated by commas.")] | UnsetType = UNSET
    principal: str | UnsetType = UNSET
    client: Annotated[str, Meta(description="The whole client id.")] | UnsetType = UNSET
    job: Annotated[int, Meta(ge=1, le=2**31 - 1)] | UnsetType = UNSET
    since: Annotated[int, Meta(ge=0, le=2**53, description="Entries from this time in ms.")] | UnsetType = (
        UNSET
    )
    until: Annotated[int, Meta(ge=0, le=2**53, description="Entries before this time in ms.")] | UnsetType = (
        UNSET
    )
    topic: (
        Annotated[
            str,
            Meta(description="Requests that name this topic; each names the first ten of its topics."),
        ]
        | UnsetType
    ) = UNSET


class AuditPage(AuditMatch, forbid_unknown_fields=True):
    """Query parameters of a page of the audit log."""

    before: Annotated[int, Meta(ge=0, le=2**53, description="Entries with a smaller id.")] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Maximum number of entries.")] = 100


EXPORT_PAGE = 2_000
"""Entries that are read at a time."""

ACTIONS = {action.value: action for action in AuditAction}

_encoder = msgspec.json.Encoder()
_DETAIL = msgspec.json.Decoder(AuditDetail)


async def audit(call: Call, page: AuditPage) -> Audit:
    """List the entries, newest first."""
    log, chosen = _log(call), _filter(page)
    try:
        entries = await call.off_loop.run(log.newest, chosen, page.limit, _given(page.before))
    except AuditLogError as error:
        raise HttpError(503, str(error)) from error
    more = entries and len(entries) == page.limit
    return Audit([audit_row(entry) for entry in entries], entries[-1].id if more else None)


async def export(call: Call, match: AuditMatch) -> StreamingResponse:
    """Return all entries, oldest first. If the log cannot be read to its end, the last line is an error."""
    log, chosen = _log(call), _filter(match)
    try:
        first = await call.off_loop.run(log.oldest, chosen, EXPORT_PAGE)
    except AuditLogError as error:
        raise HttpError(503, str(error)) from error
    return StreamingResponse(_lines(call, log, chosen, first), media_type="application/jsonl")


async def _lines(
    call: Call, log: AuditLog, chosen: AuditFilter, entries: list[AuditEntry]
) -> AsyncIterator[bytes]:
    try:
        while entries:
            yield await call.off_loop.run(_encoded, entries)
            entries = await call.off_loop.run(log.oldest, chosen, EXPORT_PAGE, entries[-1].id)
    except AuditLogError as error:
        yield _encoder.encode(Error(str(error))) + b"\n"


def _encoded(entries: list[AuditEntry]) -> bytes:
    return _encoder.encode_lines([audit_row(entry) for entry in entries])


def _log(call: Call) -> AuditLog:
    if call.services.audit is None:
        raise HttpError(
            409,
            "in ZooKeeper mode there is an audit log if audit.dir is set; without it, log lines name "
            "each request",
        )
    return call.services.audit


def _filter(match: AuditMatch) -> AuditFilter:
    return AuditFilter(
        None if match.action is UNSET else {_action(name) for name in match.action.split(",")},
        _given(match.principal),
        _given(match.client),
        _given(match.job),
        _given(match.since),
        _given(match.until),
        _given(match.topic),
    )


def _action(name: str) -> AuditAction:
    if name not in ACTIONS:
        similar = get_close_matches(name[:40], ACTIONS, 1)
        hint = f"did you mean {similar[0]}?" if similar else f"known: {', '.join(ACTIONS)}"
        raise HttpError(400, f"unknown action '{name[:40]}'; {hint}")
    return ACTIONS[name]


def _given(value: T | UnsetType) -> T | None:
    return None if value is UNSET else value


def audit_row(entry: AuditEntry) -> AuditRow:
    """Return the entry as the API shows it."""
    return AuditRow(
        entry.id,
        entry.time_ms,
        entry.action.value,
        entry.principal,
        entry.client_id,
        entry.job or None,
        _detail(entry.detail),
    )


def _detail(text: str) -> AuditDetail:
    try:
        return decode_foreign(text, _DETAIL)
    except msgspec.DecodeError:
        # Other programs can write to the audit topic of several instances.
        return AuditDetail()


ENDPOINTS = (
    Endpoint("GET", "/v1/audit", "List the audit log, newest first.", audit, Audit, query=AuditPage),
    Endpoint(
        "GET",
        "/v1/audit/export",
        "Get the audit log, oldest first.",
        export,
        AuditRow,
        query=AuditMatch,
        lines=True,
    ),
)
