"""All ACLs, indexed by the resources that they apply to, and the decision on one operation.

The decision is that of Kafka's authorizers (StandardAuthorizer, AclAuthorizer; KIP-11, KIP-290): a matching
DENY wins over every ALLOW, and a resource without any ACL has a default of its own.
"""

from collections import Counter
from collections.abc import Iterator

from controller.model.access import (
    ANY_PRINCIPAL,
    WILDCARD,
    Acl,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceKind,
)

IMPLYING = {
    Operation.DESCRIBE: (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER),
    Operation.DESCRIBE_CONFIGS: (Operation.ALTER_CONFIGS,),
}
"""Operation -> operations whose ALLOW implies it (Kafka: StandardAuthorizerData). A DENY implies nothing."""

_Bucket = tuple[ResourceKind, PatternType, str]


class AclIndex:
    """The ACLs in the order in which they were created."""

    def __init__(self) -> None:
        self._buckets: dict[_Bucket, dict[Acl, None]] = {}
        self._all: dict[Acl, None] = {}
        self._lengths: dict[ResourceKind, Counter[int]] = {}
        """By kind: the number of ACLs by the length of their prefix."""

    def __contains__(self, acl: Acl) -> bool:
        return acl in self._all

    def __iter__(self) -> Iterator[Acl]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def add(self, acl: Acl) -> None:
        """Add the ACL, unless it exists."""
        if acl in self._all:
            return
        self._all[acl] = None
        self._buckets.setdefault((acl.kind, acl.pattern, acl.name), {})[acl] = None
        if acl.pattern is PatternType.PREFIXED:
            self._lengths.setdefault(acl.kind, Counter())[len(acl.name)] += 1

    def remove(self, acl: Acl) -> None:
        """Remove the ACL, which exists."""
        del self._all[acl]
        bucket = (acl.kind, acl.pattern, acl.name)
        del self._buckets[bucket][acl]
        if not self._buckets[bucket]:
            del self._buckets[bucket]
        if acl.pattern is PatternType.PREFIXED:
            lengths = self._lengths[acl.kind]
            lengths[len(acl.name)] -= 1
            if not lengths[len(acl.name)]:
                del lengths[len(acl.name)]

    def found(self, chosen: AclFilter) -> list[Acl]:
        """Return the ACLs that the filter matches."""
        return [acl for acl in self._all if chosen.matches(acl)]

    def applying(self, kind: ResourceKind, name: str) -> Iterator[Acl]:
        """Yield the ACLs that apply to the resource.

        The time grows with the number of different lengths of prefixes, not with that of ACLs.
        """
        buckets = self._buckets
        yield from buckets.get((kind, PatternType.LITERAL, name), ())
        if name != WILDCARD:
            yield from buckets.get((kind, PatternType.LITERAL, WILDCARD), ())
        for length in self._lengths.get(kind, ()):
            if length <= len(name):
                yield from buckets.get((kind, PatternType.PREFIXED, name[:length]), ())

    def allows(
        self, principal: str, host: str, operation: Operation, kind: ResourceKind, name: str, *, default: bool
    ) -> bool:
        """Return whether the principal may perform the operation from the host.

        `default` applies to a resource without any ACL (Kafka: allow.everyone.if.no.acl.found).
        """
        sufficient = (operation, Operation.ALL, *IMPLYING.get(operation, ()))
        applies = allowed = False
        for acl in self.applying(kind, name):
            applies = True
            if acl.principal not in (principal, ANY_PRINCIPAL) or acl.host not in (host, WILDCARD):
                continue
            if acl.permission is Permission.DENY:
                if acl.operation in (operation, Operation.ALL):
                    return False
            elif acl.operation in sufficient:
                allowed = True
        return allowed if applies else default
