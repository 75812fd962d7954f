"""ACLs and SCRAM credentials as records, and the enums of Kafka's authorization.

Numbers are those of org.apache.kafka.common.acl.{AclOperation,AclPermissionType} and
org.apache.kafka.common.resource.{ResourceType,PatternType}, as on the wire.
"""

from enum import IntEnum
from typing import NamedTuple

WILDCARD = "*"
"""A literal resource name that stands for all names, and a host that stands for all hosts."""

ANY_PRINCIPAL = "User:*"

CLUSTER_NAME = "kafka-cluster"
"""The only name of a resource of the kind CLUSTER."""


class Operation(IntEnum):
    """Kafka: AclOperation."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class ResourceKind(IntEnum):
    """Kafka: ResourceType of the authorization; `controller.model.configs.ResourceType` is another enum."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """Kafka: PatternType. ANY and MATCH occur in filters only."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """Kafka: AclPermissionType."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class Acl(NamedTuple):
    """One ACL: a principal may, or may not, do an operation from a host on resources by name or prefix."""

    kind: ResourceKind
    name: str
    pattern: PatternType
    principal: str
    host: str
    operation: Operation
    permission: Permission

    @property
    def key(self) -> "Acl":
        """The key under which the record is stored: all of it, since an ACL has no other content."""
        return self


class ScramCredential(NamedTuple):
    """What a server keeps of a password (RFC 5802). The password cannot be computed from it.

    `mechanism` is the name, such as SCRAM-SHA-256.
    """

    user: str
    mechanism: str
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    @property
    def key(self) -> tuple[str, str]:
        """The key under which the record is stored."""
        return (self.user, self.mechanism)

    def __repr__(self) -> str:
        """Leave out the secrets, because records can occur in error messages."""
        return f"ScramCredential({self.user!r}, {self.mechanism!r}, iterations={self.iterations})"


class AclFilter(NamedTuple):
    """Conditions on an ACL. None and ANY match everything.

    With the pattern MATCH, `name` is the name of a resource: ACLs match that apply to it. With ANY, the name
    of the ACL must be equal, whatever its pattern.
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
