"""The authorizer over the ACLs of the controller's state (Kafka: StandardAuthorizer)."""

from typing import NamedTuple

from controller.model.access import Operation
from controller.state.access import AclIndex
from server.dispatch.authorizer import Resource

ANY_HOST = ""
"""The host of a caller without an address. Only ACLs for all hosts apply to it."""


class AclAuthorizer(NamedTuple):
    """Decides by ACLs. Implements `server.dispatch.authorizer.Authorizer` for callers from one host.

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
