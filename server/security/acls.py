"""ACLs: those in the messages 29, 30 and 31 as the controller has them, and the authorizer that uses them."""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from itertools import groupby
from typing import NamedTuple, TypeVar

from common.error_codes import ErrorCode
from controller.model.access import Acl, AclFilter, Operation, PatternType, Permission, ResourceKind
from controller.state.access import AclIndex
from protocol.codec.errors import ApiError, DecodeError
from protocol.messages.create_acls_request import AclCreation
from protocol.messages.delete_acls_request import DeleteAclsFilter
from protocol.messages.delete_acls_response import DeleteAclsMatchingAcl
from protocol.messages.describe_acls_request import DescribeAclsRequest
from protocol.messages.describe_acls_response import AclDescription, DescribeAclsResource
from server.dispatch.context import Resource

E = TypeVar("E", bound=IntEnum)

UNKNOWN, ANY = 0, 1
"""The same numbers in all four enums."""


def filter_of(message: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    """Return the filter. Numbers that are in no enum become UNKNOWN, which matches nothing.

    Raises DecodeError for UNKNOWN in the message: Kafka closes the connection.
    """
    return AclFilter(
        _known(ResourceKind, message.resource_type_filter),
        message.resource_name_filter,
        _known(PatternType, message.pattern_type_filter),
        message.principal_filter,
        message.host_filter,
        _known(Operation, message.operation),
        _known(Permission, message.permission_type),
    )


def fault_of(chosen: AclFilter) -> str | None:
    """Return Kafka's message for a filter with a number that is in no enum; None for another filter."""
    if UNKNOWN in (chosen.kind, chosen.pattern):
        return "Unknown patternFilter."
    return "Unknown entryFilter." if UNKNOWN in (chosen.operation, chosen.permission) else None


def acl_of(message: AclCreation) -> Acl:
    """Return the ACL to create. Numbers that are in no enum become UNKNOWN, which the controller refuses.

    As in Kafka, UNKNOWN in the message closes the connection (DecodeError), and a number that only filters
    may have ends the whole request with UNKNOWN_SERVER_ERROR (ApiError).
    """
    acl = Acl(
        _known(ResourceKind, message.resource_type),
        message.resource_name,
        _known(PatternType, message.resource_pattern_type),
        message.principal,
        message.host,
        _known(Operation, message.operation),
        _known(Permission, message.permission_type),
    )
    if ANY in (acl.kind, acl.pattern, acl.operation, acl.permission) or acl.pattern is PatternType.MATCH:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return acl


def described(acls: Iterable[Acl]) -> list[DescribeAclsResource]:
    """Return the ACLs grouped by resource, as DescribeAcls lists them."""

    def resource(acl: Acl) -> tuple[ResourceKind, str, PatternType]:
        return acl[:3]

    return [
        DescribeAclsResource(*key, [AclDescription(*acl[3:]) for acl in group])
        for key, group in groupby(sorted(acls), resource)
    ]


def deleted(acls: Sequence[Acl]) -> list[DeleteAclsMatchingAcl]:
    """Return the ACLs that a filter has deleted."""
    return [DeleteAclsMatchingAcl(0, None, *acl) for acl in acls]


def _known(kind: type[E], number: int) -> E:
    """Return the member; UNKNOWN for a number that is in no enum.

    Raises DecodeError if UNKNOWN itself is given.
    """
    if number == UNKNOWN:
        raise DecodeError(f"an ACL or a filter of ACLs with an UNKNOWN {kind.__name__}")
    try:
        return kind(number)
    except ValueError:
        return kind(UNKNOWN)


ANY_HOST = ""
"""The host of a caller without an address. Only ACLs for all hosts apply to it."""


class AclAuthorizer(NamedTuple):
    """Decides by ACLs. Implements `server.dispatch.context.Authorizer` for callers from one host.

    `super_users` are principals that may do everything. `allow_without_acl` is the answer for resources
    without any ACL (Kafka: allow.everyone.if.no.acl.found).
    """

    acls: AclIndex
    super_users: frozenset[str] = frozenset()
    allow_without_acl: bool = False
    host: str = ANY_HOST

    def seen_from(self, host: str) -> "AclAuthorizer":
        """Return the authorizer for callers from this host (the address without the port)."""
        return self._replace(host=host)

    def allows(self, principal: str, operation: Operation, resource: Resource, /) -> bool:
        if principal in self.super_users:
            return True
        return self.acls.allows(
            principal, self.host, operation, resource.kind, resource.name, default=self.allow_without_acl
        )
