"""The models of `/v1/audit`."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from server.audit.detail import AuditDetail

AuditActionName: TypeAlias = Literal[
    "order", "queue", "cancel", "rollback", "pause", "resume", "limits", "priority", "acls", "users"
]


class AuditRow(Struct):
    """An accepted request."""

    id: Annotated[int, Meta(description="Increases with each entry.")]
    time_ms: Annotated[int, Meta(description="Milliseconds since 1970; never decreases.")]
    action: AuditActionName
    principal: Annotated[
        str,
        Meta(
            description="`User:` and the name of a Kafka principal, a token or a certificate; or `Local:` and a login name."
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
    principal: str | int | bool | UnsetType = UNSET
    client: Annotated[str | int | bool, Meta(description="The whole client id.")] | UnsetType = UNSET
    job: Annotated[int, Meta(ge=1, le=2**31 - 1)] | UnsetType = UNSET
    since: Annotated[int, Meta(ge=0, le=2**53, description="Entries from this time in ms.")] | UnsetType = (
        UNSET
    )
    until: Annotated[int, Meta(ge=0, le=2**53, description="Entries before this time in ms.")] | UnsetType = (
        UNSET
    )
    topic: (
        Annotated[
            str | int | bool,
            Meta(description="Requests that name this topic; each names the first ten of its topics."),
        ]
        | UnsetType
    ) = UNSET


class AuditPage(AuditMatch, forbid_unknown_fields=True):
    """Query parameters of a page of the audit log."""

    before: Annotated[int, Meta(ge=0, le=2**53, description="Entries with a smaller id.")] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Maximum number of entries.")] = 100
