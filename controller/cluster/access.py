"""Decides on changes of ACLs and SCRAM credentials (Kafka: AclControlManager, ScramControlManager)."""

from common.error_codes import ErrorCode
from controller.messages.events import AlterScramCredentials, CreateAcls, DeleteAcls, UserChange
from controller.model.access import CLUSTER_NAME, Acl, Operation, PatternType, Permission, ResourceKind
from controller.model.cluster import ScramCredential
from controller.model.errors import DONE, Outcome
from controller.model.replicas import display_name
from controller.state.state import Decision

NO_CREDENTIAL = "Attempt to delete a user credential that does not exist"


def create_acls(d: Decision, event: CreateAcls) -> None:
    """Create the valid ACLs. Reply: one outcome per ACL."""
    outcomes = []
    for acl in event.acls:
        outcome = check_acl(acl)
        if outcome is DONE and acl not in d.state.acls:
            d.put(acl)
        outcomes.append(outcome)
    d.answer(event, outcomes)


def delete_acls(d: Decision, event: DeleteAcls) -> None:
    """Delete the ACLs that match a filter. Reply: the matching ACLs of each filter."""
    found = [d.state.acls.found(chosen) for chosen in event.filters]
    for acl in dict.fromkeys(acl for acls in found for acl in acls):
        d.delete(Acl, acl)
    d.answer(event, found)


def alter_scram_credentials(d: Decision, event: AlterScramCredentials) -> None:
    """Set and remove credentials. Reply: one outcome per user."""
    d.answer(event, [_alter_user(d, change) for change in event.users])


def check_acl(acl: Acl) -> Outcome:
    """Check an ACL that is to be created."""
    message = _obstacle(acl)
    return DONE if message is None else Outcome(ErrorCode.INVALID_REQUEST, message)


def _obstacle(acl: Acl) -> str | None:
    if acl.kind is ResourceKind.CLUSTER and acl.name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if not acl.name:
        return "Invalid empty resource name"
    if acl.kind in (ResourceKind.UNKNOWN, ResourceKind.ANY):
        return f"Invalid resourceType {acl.kind.name}"
    if acl.pattern not in (PatternType.LITERAL, PatternType.PREFIXED):
        return f"Invalid patternType {acl.pattern.name}"
    if acl.operation in (Operation.UNKNOWN, Operation.ANY):
        return f"Invalid operation {acl.operation.name}"
    if acl.permission not in (Permission.DENY, Permission.ALLOW):
        return f"Invalid permissionType {acl.permission.name}"
    if ":" not in acl.principal:
        return (
            f"Could not parse principal from `{display_name(acl.principal)}` (no colon is present separating"
            " the principal type from the principal name)"
        )
    return None


def _alter_user(d: Decision, change: UserChange) -> Outcome:
    known = d.state.scram_credentials
    for mechanism, credential in change.credentials.items():
        if credential is None and (change.user, mechanism) not in known:
            return Outcome(ErrorCode.RESOURCE_NOT_FOUND, NO_CREDENTIAL)
    for mechanism, credential in change.credentials.items():
        if credential is None:
            d.delete(ScramCredential, (change.user, mechanism))
        else:
            d.put(credential)
    return DONE
