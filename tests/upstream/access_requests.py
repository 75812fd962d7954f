"""Requests that read and change ACLs and SCRAM credentials, valid and invalid ones, by name."""

from typing import Any, NamedTuple

from controller.model.access import Operation, PatternType, Permission, ResourceKind
from protocol.codec.schema import Request
from protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.describe_acls_request import DescribeAclsRequest
from protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)

TOPIC, GROUP, CLUSTER = ResourceKind.TOPIC, ResourceKind.GROUP, ResourceKind.CLUSTER
LITERAL, PREFIXED, MATCH = PatternType.LITERAL, PatternType.PREFIXED, PatternType.MATCH
UNKNOWN, ANY, BEYOND = 0, 1, 99
"""Numbers that mean the same in the enums of all fields; BEYOND is in none of them."""

SHA_256, SHA_512 = 1, 2
KNOWN_USER, OTHER_USER, ABSENT_USER = "seen", "also-seen", "absent"

ORDERS = AclCreation(TOPIC, "orders", LITERAL, "User:seen", "*", Operation.READ, Permission.ALLOW)
PRESENT = (
    ORDERS,
    ORDERS._replace(resource_name="ord", resource_pattern_type=PREFIXED),
    ORDERS._replace(resource_name="*", operation=Operation.WRITE),
    ORDERS._replace(resource_type=GROUP, principal="User:*", host="10.0.0.1"),
    ORDERS._replace(permission_type=Permission.DENY, operation=Operation.ALL),
    ORDERS._replace(resource_type=ResourceKind.USER, operation=Operation.CREATE_TOKENS),
)
"""ACLs that exist before the requests."""

AnyRequest = Request[NamedTuple]


def created(**change: Any) -> CreateAclsRequest:
    """Return a request for one ACL that differs from ORDERS."""
    return CreateAclsRequest([ORDERS._replace(**change)])


def described(**change: Any) -> DescribeAclsRequest:
    """Return a request for all ACLs, but for the changed fields of the filter."""
    every = DescribeAclsRequest(ANY, None, ANY, None, None, ANY, ANY)
    return every._replace(**change)


def chosen(**change: Any) -> DeleteAclsFilter:
    """Return a filter that matches all ACLs, but for the changed fields."""
    return DeleteAclsFilter(ANY, None, ANY, None, None, ANY, ANY)._replace(**change)


def deleted(**change: Any) -> DeleteAclsRequest:
    """Return a request with one filter."""
    return DeleteAclsRequest([chosen(**change)])


def upserted(user: str, mechanism: int = SHA_256, iterations: int = 4096) -> ScramCredentialUpsertion:
    """Return new credentials of a user."""
    return ScramCredentialUpsertion(user, mechanism, iterations, b"salt", b"salted password")


def altered(*upsertions: ScramCredentialUpsertion, **removed: int) -> AlterUserScramCredentialsRequest:
    """Return a request that sets credentials, and removes others: user=MECHANISM."""
    deletions = [ScramCredentialDeletion(*pair) for pair in removed.items()]
    return AlterUserScramCredentialsRequest(deletions, upsertions)


def users(*names: str) -> DescribeUserScramCredentialsRequest:
    """Return a request for the credentials of these users."""
    return DescribeUserScramCredentialsRequest([UserName(name) for name in names])


READS: dict[str, AnyRequest] = {
    "all ACLs": described(),
    "ACLs of a topic's name": described(resource_type_filter=TOPIC, resource_name_filter="orders"),
    "literal ACLs": described(pattern_type_filter=LITERAL, resource_name_filter="orders"),
    "prefixed ACLs": described(pattern_type_filter=PREFIXED, resource_name_filter="ord"),
    "ACLs that apply to a topic": described(
        resource_type_filter=TOPIC, pattern_type_filter=MATCH, resource_name_filter="orders"
    ),
    "ACLs that apply to something": described(pattern_type_filter=MATCH),
    "wildcard ACLs": described(pattern_type_filter=LITERAL, resource_name_filter="*"),
    "ACLs of a principal": described(principal_filter="User:*"),
    "ACLs of a host": described(host_filter="10.0.0.1"),
    "ACLs of an operation": described(operation=Operation.READ),
    "denying ACLs": described(permission_type=Permission.DENY),
    "ACLs of a token": described(resource_type_filter=ResourceKind.DELEGATION_TOKEN),
    "ACLs of an empty name": described(resource_name_filter=""),
    "an unknown resource type": described(resource_type_filter=UNKNOWN),
    "a resource type beyond all": described(resource_type_filter=BEYOND),
    "an unknown pattern type": described(pattern_type_filter=UNKNOWN),
    "a pattern type beyond all": described(pattern_type_filter=BEYOND),
    "an unknown operation": described(operation=UNKNOWN),
    "an operation beyond all": described(operation=BEYOND),
    "an unknown permission": described(permission_type=UNKNOWN),
    "a permission beyond all": described(permission_type=BEYOND),
    "all users": DescribeUserScramCredentialsRequest(None),
    "no users": users(),
    "a user": users(KNOWN_USER),
    "users and an unknown one": users(KNOWN_USER, ABSENT_USER, OTHER_USER),
    "a user twice": users(KNOWN_USER, OTHER_USER, KNOWN_USER),
    "an unknown user twice": users(ABSENT_USER, ABSENT_USER),
    "a user without name": users(""),
}

CHANGES: dict[str, AnyRequest] = {
    "an ACL": created(resource_name="new"),
    "an ACL that exists": created(),
    "an ACL twice": CreateAclsRequest([ORDERS._replace(resource_name="twice")] * 2),
    "no ACL": CreateAclsRequest([]),
    "an ACL of the cluster": created(
        resource_type=CLUSTER, resource_name="kafka-cluster", operation=Operation.IDEMPOTENT_WRITE
    ),
    "an ACL of another cluster": created(resource_type=CLUSTER, resource_name="other"),
    "an ACL of a prefix of the cluster": created(
        resource_type=CLUSTER, resource_name="kafka-cluster", resource_pattern_type=PREFIXED
    ),
    "an operation that topics do not have": created(operation=Operation.CLUSTER_ACTION),
    "an ACL without name": created(resource_name=""),
    "a prefix without name": created(resource_name="", resource_pattern_type=PREFIXED),
    "an ACL of any resource type": created(resource_type=ANY),
    "an ACL of no resource type": created(resource_type=UNKNOWN),
    "an ACL of a resource type beyond all": created(resource_type=BEYOND),
    "an ACL of any pattern type": created(resource_pattern_type=ANY),
    "an ACL of the pattern type MATCH": created(resource_pattern_type=MATCH),
    "an ACL of no pattern type": created(resource_pattern_type=UNKNOWN),
    "an ACL of a pattern type beyond all": created(resource_pattern_type=BEYOND),
    "an ACL of any operation": created(operation=ANY),
    "an ACL of no operation": created(operation=UNKNOWN),
    "an ACL of an operation beyond all": created(operation=BEYOND),
    "an ACL of any permission": created(permission_type=ANY),
    "an ACL of no permission": created(permission_type=UNKNOWN),
    "an ACL of a permission beyond all": created(permission_type=BEYOND),
    "a principal without type": created(principal="alice"),
    "a principal without name": created(principal="User:"),
    "a principal with an empty type": created(principal=":alice"),
    "an empty principal": created(principal=""),
    "a principal of a group": created(principal="Group:writers"),
    "an ACL without host": created(host=""),
    "an ACL of a host's name": created(host="client.example"),
    "several faults": created(resource_type=ANY, resource_name="", operation=ANY),
    "valid and invalid ACLs": CreateAclsRequest(
        [ORDERS._replace(resource_name="valid"), ORDERS._replace(operation=ANY), ORDERS]
    ),
    "a deletion of nothing": deleted(principal_filter="User:absent"),
    "a deletion by no filter": DeleteAclsRequest([]),
    "a deletion by two filters": DeleteAclsRequest(
        [chosen(resource_name_filter="new"), chosen(resource_name_filter="new", operation=Operation.READ)]
    ),
    "a deletion of what applies to a topic": deleted(
        resource_type_filter=TOPIC,
        pattern_type_filter=MATCH,
        resource_name_filter="valid",
        operation=Operation.READ,
    ),
    "a deletion with a resource type beyond all": deleted(resource_type_filter=BEYOND),
    "a deletion with an unknown resource type": deleted(resource_type_filter=UNKNOWN),
    "a deletion with an unknown pattern type": deleted(pattern_type_filter=UNKNOWN),
    "a deletion with a pattern type beyond all": deleted(pattern_type_filter=BEYOND),
    "a deletion with an unknown operation": deleted(operation=UNKNOWN),
    "a deletion with a permission beyond all": deleted(permission_type=BEYOND),
    "a valid and an invalid filter": DeleteAclsRequest(
        [chosen(resource_name_filter="twice"), chosen(operation=BEYOND)]
    ),
    "a new user": altered(upserted("new")),
    "the same user again": altered(upserted("new", iterations=8192)),
    "both mechanisms of a user": altered(upserted("both"), upserted("both", SHA_512)),
    "a mechanism twice": altered(upserted("twice"), upserted("twice")),
    "set and removed": altered(upserted(KNOWN_USER), **{KNOWN_USER: SHA_256}),
    "set, and the other mechanism removed": altered(upserted(KNOWN_USER), **{KNOWN_USER: SHA_512}),
    "two users, one of them twice": altered(upserted("one"), upserted("twice"), upserted("twice")),
    "the fewest iterations less one": altered(upserted("few", iterations=4095)),
    "no iterations": altered(upserted("none", iterations=0)),
    "negative iterations": altered(upserted("negative", iterations=-1)),
    "the most iterations": altered(upserted("many", iterations=16_384)),
    "the most iterations plus one": altered(upserted("many", iterations=16_385)),
    "an unknown mechanism": altered(upserted("unknown", UNKNOWN)),
    "a mechanism beyond all": altered(upserted("unknown", BEYOND)),
    "a change without name": altered(upserted("")),
    "a removal without name": altered(**{"": SHA_256}),
    "a removal": altered(new=SHA_256),
    "a removal of an absent user": altered(absent=SHA_256),
    "a removal of an absent mechanism": altered(**{KNOWN_USER: SHA_512}),
    "a removal of an unknown mechanism": altered(**{KNOWN_USER: UNKNOWN}),
    "a removal of a mechanism beyond all": altered(**{KNOWN_USER: BEYOND}),
    "valid and invalid users": altered(upserted("fine"), upserted("few", iterations=1), absent=SHA_512),
    "an unknown mechanism and few iterations": altered(upserted("unknown", BEYOND, 1)),
    "too few iterations twice": altered(upserted("few", iterations=1), upserted("few", iterations=1)),
    "no user": altered(),
}
