"""The numbers of an audit entry, as they are stored and as the API returns them."""

from typing import Annotated

from msgspec import Meta, Struct

NAMED = 10
"""Topics, ACLs or credentials that an entry names."""
LENGTH = 250
"""Characters of a config's value or of an ACL in an entry."""


class AuditDetail(Struct, omit_defaults=True):
    """The numbers of a request. A field that does not apply is missing."""

    via: Annotated[str, Meta(description="Id of the instance that has forwarded the request.")] = ""
    requested: Annotated[int, Meta(description="Rows of the request.")] = 0
    partitions: Annotated[int, Meta(description="Partitions of the job that the request created.")] = 0
    moves: Annotated[
        int,
        Meta(
            description="Moves between log directories of the job that the request created, or that it has"
            " cancelled."
        ),
    ] = 0
    left: Annotated[
        int,
        Meta(
            description="Partitions that have not ended, of the job or the jobs that were paused or resumed."
        ),
    ] = 0
    cancelled: Annotated[int, Meta(description="Cancelled partitions.")] = 0
    skipped: Annotated[int, Meta(description="Partitions that a rollback skipped.")] = 0
    rolled_back: Annotated[int, Meta(description="The job that a rollback undoes.")] = 0
    throttle: Annotated[int, Meta(description="Bytes per second of the job's own throttle.")] = 0
    priority: int = 0
    paused: Annotated[
        bool, Meta(description="Whether the job waits to be resumed before its first step.")
    ] = False
    topics: Annotated[list[str], Meta(description="The first topics of the request.")] = []
    topic_count: Annotated[int, Meta(description="Number of topics of the request.")] = 0
    configs: Annotated[
        dict[str, str | None],
        Meta(
            description="Changed configs with their new values, those of the job if the entry has one, null"
            " for a reset to the default; or the first SCRAM credentials by user, null for a removal."
        ),
    ] = {}
    before: Annotated[
        dict[str, str | None],
        Meta(
            description="Values before the change: of each config in `configs`, null for the default or no"
            " credential, or of `priority`."
        ),
    ] = {}
    created: Annotated[list[str], Meta(description="The first ACLs that the request created.")] = []
    deleted: Annotated[list[str], Meta(description="The first ACLs that the request deleted.")] = []
    changed: Annotated[
        int, Meta(description="Number of changed ACLs, SCRAM credentials or held requests.")
    ] = 0
    reviewed: Annotated[
        list[str],
        Meta(
            description="The first requests of Cruise Control's API that were held, approved, discarded or "
            "carried out, with their numbers and principals."
        ),
    ] = []
    reason: Annotated[str, Meta(description="Why requests were approved or discarded.")] = ""
