"""Filters of ACLs (Kafka: AclBindingFilter): which ACLs are listed or deleted."""

from typing import NamedTuple

from controller.model.access import WILDCARD, Acl, Operation, PatternType, Permission, ResourceKind


class AclFilter(NamedTuple):
    """Conditions on an ACL. None and ANY match everything.

    With the pattern MATCH, `name` is the name of a resource: ACLs match that apply to it. With ANY, the name of
    the ACL must be equal, whatever its pattern.
    """

    kind: ResourceKind = ResourceKind.ANY
    name: str | None = None
    pattern: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY

    def matches(self, acl: Acl) -> bool:
        """Return whether the ACL fulfils all conditions."""
        return (
            self.kind in (ResourceKind.ANY, acl.kind)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
            and self._matches_name(acl)
        )

    def _matches_name(self, acl: Acl) -> bool:
        if self.pattern not in (PatternType.ANY, PatternType.MATCH, acl.pattern):
            return False
        if self.name is None:
            return True
        if self.pattern is not PatternType.MATCH:
            return self.name == acl.name
        return applies_to(acl, self.name)


def applies_to(acl: Acl, name: str) -> bool:
    """Return whether the ACL's pattern covers a resource of this name (its kind is not compared)."""
    if acl.pattern is PatternType.PREFIXED:
        return name.startswith(acl.name)
    return acl.name in (name, WILDCARD)
