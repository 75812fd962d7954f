"""Authorization: resources, and the authorizer port. `controller.model.access` has Kafka's enums."""

from typing import NamedTuple, Protocol

from controller.model.access import CLUSTER_NAME, Operation, ResourceKind

__all__ = [
    "ANONYMOUS",
    "CLUSTER",
    "CLUSTER_OPERATIONS",
    "TOPIC_OPERATIONS",
    "UNKNOWN",
    "AllowAll",
    "Authorizer",
    "Operation",
    "Resource",
    "ResourceKind",
    "authorized_operations",
    "group",
    "is_named",
    "topic",
    "transactional_id",
    "unknown_principal",
]

ANONYMOUS = "User:ANONYMOUS"
UNKNOWN = "unknown"
"""Stands for the principal if another broker authenticated it and its name is unknown. No principal begins
so."""


def unknown_principal(mechanism: str, peer: str) -> str:
    """Return what is recorded of a client whose name is unknown.

    The SASL mechanism, and `peer` without its port.
    """
    return f"{UNKNOWN} ({mechanism or 'no mechanism'} from {peer.rpartition(':')[0]})"


def is_named(principal: str) -> bool:
    """Return whether the name of the principal is known."""
    return not principal.startswith(UNKNOWN)


class Resource(NamedTuple):
    """A resource that operations are authorized on."""

    kind: ResourceKind
    name: str


CLUSTER = Resource(ResourceKind.CLUSTER, CLUSTER_NAME)

TOPIC_OPERATIONS = (
    Operation.READ,
    Operation.WRITE,
    Operation.CREATE,
    Operation.DESCRIBE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
)
CLUSTER_OPERATIONS = (
    Operation.CREATE,
    Operation.CLUSTER_ACTION,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
    Operation.DESCRIBE,
    Operation.ALTER,
    Operation.IDEMPOTENT_WRITE,
)


def topic(name: str) -> Resource:
    """Return the topic as a resource."""
    return Resource(ResourceKind.TOPIC, name)


def group(name: str) -> Resource:
    """Return the consumer group as a resource."""
    return Resource(ResourceKind.GROUP, name)


def transactional_id(name: str) -> Resource:
    """Return the transactional id as a resource."""
    return Resource(ResourceKind.TRANSACTIONAL_ID, name)


class Authorizer(Protocol):
    """Decides whether a principal may perform an operation. Called for every request: it must not block."""

    def allows(self, principal: str, operation: Operation, resource: Resource, /) -> bool: ...


class AllowAll:
    """Allows every operation to everyone, as Kafka without an authorizer."""

    def allows(self, _principal: str, _operation: Operation, _resource: Resource, /) -> bool:
        return True


def authorized_operations(authorizer: Authorizer, principal: str, resource: Resource) -> int:
    """Return the bit field of KIP-430: bit n is set if operation n is allowed on the resource."""
    operations = CLUSTER_OPERATIONS if resource.kind is ResourceKind.CLUSTER else TOPIC_OPERATIONS
    return sum(1 << number for number in operations if authorizer.allows(principal, number, resource))
