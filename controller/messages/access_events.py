"""Events that change ACLs and SCRAM credentials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from controller.access.filters import AclFilter
from controller.messages.event import UNKNOWN_REQUESTER, Event, Requester
from controller.model.access import Acl, ScramCredential
from controller.model.errors import Outcome


@dataclass(frozen=True, slots=True)
class CreateAcls(Event[list[Outcome]]):
    """CreateAcls (30). The reply has one outcome per ACL. An ACL that exists is accepted."""

    acls: Sequence[Acl]
    requester: Requester = UNKNOWN_REQUESTER


@dataclass(frozen=True, slots=True)
class DeleteAcls(Event[list[list[Acl]]]):
    """DeleteAcls (31). The reply has the matching ACLs of each filter.

    An ACL that several filters match is in the reply for each of them, as in Kafka.
    """

    filters: Sequence[AclFilter]
    requester: Requester = UNKNOWN_REQUESTER


class UserChange(NamedTuple):
    """The changes of one user's credentials by mechanism; None removes one. All are made, or none."""

    user: str
    credentials: Mapping[str, ScramCredential | None]


@dataclass(frozen=True, slots=True)
class AlterScramCredentials(Event[list[Outcome]]):
    """AlterUserScramCredentials (51). The reply has one outcome per user."""

    users: Sequence[UserChange]
    requester: Requester = UNKNOWN_REQUESTER
