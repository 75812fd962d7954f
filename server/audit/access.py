"""The details of audit entries for changes of ACLs and SCRAM credentials. They have no passwords and no salts."""

from collections.abc import Iterable, Sequence
from itertools import islice

from controller.messages.access_events import AlterScramCredentials
from controller.model.access import Acl, ScramCredential
from controller.model.cluster import Change, Deleted
from controller.state.state import State
from server.audit.detail import LENGTH, NAMED, AuditDetail


def acl_detail(changes: Sequence[Change]) -> AuditDetail:
    """Return the ACLs among the changes: the first of them by name, and their number."""
    created = [change for change in changes if isinstance(change, Acl)]
    deleted = [
        change.key for change in changes if isinstance(change, Deleted) and isinstance(change.key, Acl)
    ]
    return AuditDetail(created=_named(created), deleted=_named(deleted), changed=len(created) + len(deleted))


def user_detail(changes: Sequence[Change]) -> AuditDetail:
    """Return the credentials among the changes: their iterations, None for removed ones."""
    values: dict[str, str | None] = {}
    for change in changes:
        match change:
            case ScramCredential():
                values[_name(*change.key)] = _value(change)
            case Deleted(_, (str(user), str(mechanism))):
                values[_name(user, mechanism)] = None
    return AuditDetail(configs=dict(islice(values.items(), NAMED)), changed=len(values))


def credentials_before(state: State, event: AlterScramCredentials) -> dict[str, str | None]:
    """Return the iterations of the credentials that the event would change, None for those that do not exist."""
    keys = ((change.user, mechanism) for change in event.users for mechanism in change.credentials)
    return {_name(*key): _value(state.scram_credentials.get(key)) for key in keys}


def _named(acls: Iterable[Acl]) -> list[str]:
    return [_described(acl)[:LENGTH] for acl in islice(acls, NAMED)]


def _described(acl: Acl) -> str:
    resource = f"{acl.kind.name} {acl.name} ({acl.pattern.name})"
    return f"{acl.permission.name} {acl.operation.name} on {resource} to {acl.principal} from {acl.host}"


def _name(user: str, mechanism: str) -> str:
    return f"user {user[:LENGTH]}: {mechanism}"


def _value(credential: ScramCredential | None) -> str | None:
    return None if credential is None else f"iterations={credential.iterations}"
