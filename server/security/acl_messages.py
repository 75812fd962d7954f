"""ACLs and filters of the messages of 29, 30 and 31, as the controller has them and back."""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from itertools import groupby
from typing import Protocol, TypeVar

from controller.access.filters import AclFilter
from controller.model.access import Acl, Operation, PatternType, Permission, ResourceKind
from protocol.messages.create_acls_request import AclCreation
from protocol.messages.delete_acls_response import DeleteAclsMatchingAcl
from protocol.messages.describe_acls_response import AclDescription, DescribeAclsResource

E = TypeVar("E", bound=IntEnum)


class FilterMessage(Protocol):
    """A filter in a request: that of DescribeAcls, or one of DeleteAcls."""

    @property
    def resource_type_filter(self) -> int: ...

    @property
    def resource_name_filter(self) -> str | None: ...

    @property
    def pattern_type_filter(self) -> int: ...

    @property
    def principal_filter(self) -> str | None: ...

    @property
    def host_filter(self) -> str | None: ...

    @property
    def operation(self) -> int: ...

    @property
    def permission_type(self) -> int: ...


def filter_of(message: FilterMessage) -> AclFilter | None:
    """Return the filter, or None if a number in it is unknown."""
    chosen = AclFilter(
        _known(ResourceKind, message.resource_type_filter),
        message.resource_name_filter,
        _known(PatternType, message.pattern_type_filter),
        message.principal_filter,
        message.host_filter,
        _known(Operation, message.operation),
        _known(Permission, message.permission_type),
    )
    numbers = (chosen.kind, chosen.pattern, chosen.operation, chosen.permission)
    return None if 0 in numbers else chosen


def acl_of(message: AclCreation) -> Acl:
    """Return the ACL to create. Unknown numbers become UNKNOWN, which the controller refuses."""
    return Acl(
        _known(ResourceKind, message.resource_type),
        message.resource_name,
        _known(PatternType, message.resource_pattern_type),
        message.principal,
        message.host,
        _known(Operation, message.operation),
        _known(Permission, message.permission_type),
    )


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
    try:
        return kind(number)
    except ValueError:
        return kind(0)
