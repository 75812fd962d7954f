"""Builders of ACLs and filters, and strategies for them with few names, so that many match."""

from typing import Any

from hypothesis import strategies as st

from controller.model.access import Acl, AclFilter, Operation, PatternType, Permission, ResourceKind

NAMES = ("*", "pay", "payments", "payments-eu", "orders", "p")
PRINCIPALS = ("User:*", "User:anna", "User:bob", "Group:anna")
HOSTS = ("*", "10.0.0.1", "10.0.0.2")
KINDS = (ResourceKind.TOPIC, ResourceKind.GROUP)
OPERATIONS = (Operation.ALL, Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALTER_CONFIGS)


def acl(
    name: str = "orders",
    principal: str = "User:anna",
    operation: Operation = Operation.READ,
    **fields: Any,
) -> Acl:
    """Return an ALLOW for a literal topic from all hosts; `fields` replace single values."""
    made = Acl(ResourceKind.TOPIC, name, PatternType.LITERAL, principal, "*", operation, Permission.ALLOW)
    return made._replace(**fields)


ACLS = st.builds(
    Acl,
    st.sampled_from(KINDS),
    st.sampled_from(NAMES),
    st.sampled_from((PatternType.LITERAL, PatternType.PREFIXED)),
    st.sampled_from(PRINCIPALS),
    st.sampled_from(HOSTS),
    st.sampled_from(OPERATIONS),
    st.sampled_from((Permission.ALLOW, Permission.DENY)),
)

FILTERS = st.builds(
    AclFilter,
    st.sampled_from((ResourceKind.ANY, *KINDS)),
    st.none() | st.sampled_from(NAMES),
    st.sampled_from((PatternType.ANY, PatternType.MATCH, PatternType.LITERAL, PatternType.PREFIXED)),
    st.none() | st.sampled_from(PRINCIPALS),
    st.none() | st.sampled_from(HOSTS),
    st.sampled_from((Operation.ANY, *OPERATIONS)),
    st.sampled_from((Permission.ANY, Permission.ALLOW, Permission.DENY)),
)
