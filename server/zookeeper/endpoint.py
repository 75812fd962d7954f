"""Requests to a controller: answered while reassignd is active, else refused with NOT_CONTROLLER.

Two of them need no decision of the controller: AllocateProducerIds (67) version 0 (KIP-730), by which a
broker requests a block of producer ids (STALE_BROKER_EPOCH, UNKNOWN_SERVER_ERROR), and
AlterUserScramCredentials (51) version 0 (KIP-554; ALTER on the cluster; one row a user with INVALID_REQUEST,
UNACCEPTABLE_CREDENTIAL, UNSUPPORTED_SASL_MECHANISM, DUPLICATE_RESOURCE, RESOURCE_NOT_FOUND,
UNKNOWN_SERVER_ERROR).
"""

import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple

from common.error_codes import ErrorCode
from controller.model.access import Operation, ScramCredential
from controller.state.state import State
from protocol.apis import ApiKey
from protocol.codec.errors import ApiError
from protocol.frames import RequestFrame, decode_request, decode_within, encode_response
from protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from protocol.messages.alter_user_scram_credentials_request import AlterUserScramCredentialsRequest
from protocol.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from server.dispatch.context import (
    CLUSTER,
    Caller,
)
from server.dispatch.registry import ROUTES
from server.dispatch.router import Router, refused
from server.handlers import load
from server.security.scram_credentials import BOUNDS, changes_of, users_in

log = logging.getLogger(__name__)


ANSWERED = frozenset({
    ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.ALTER_PARTITION,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
})  # fmt: skip
"""API keys that the controller answers."""


INTERNAL = frozenset({"__consumer_offsets", "__transaction_state"})
"""Internal topics, which brokers create themselves."""


Allocate = Callable[[int, int], Awaitable[tuple[int, int]]]
"""Takes a broker's id and epoch; returns the first id of the block and its length. Raises ApiError."""


AlterUser = Callable[[str, Mapping[str, str | None]], Awaitable[None]]
"""Stores a user's credentials by mechanism, None to remove one. Raises ApiError."""


class ActiveController(NamedTuple):
    """The services of one term as controller."""

    router: Router
    allocate: Allocate
    alter_user: AlterUser
    state: State


class ControllerOnlyApi(NamedTuple):
    """An API that is answered without the controller, in version 0 only."""

    operation: Operation
    """Operation on the cluster that the principal needs."""
    answer: Callable[[RequestFrame, ActiveController], Awaitable[bytes]]
    refuse: Callable[[RequestFrame, int], bytes]


async def answer_producer_ids(frame: RequestFrame, allocate: Allocate) -> bytes:
    """Return the response frame."""
    request = decode_request(frame, AllocateProducerIdsRequest)
    try:
        start, size = await allocate(request.broker_id, request.broker_epoch)
    except ApiError as error:
        return refuse_producer_ids(frame, error.code)
    except Exception:
        log.exception("no producer ids for broker %d", request.broker_id)
        return refuse_producer_ids(frame, ErrorCode.UNKNOWN_SERVER_ERROR)
    return encode_response(frame, AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=size))


def refuse_producer_ids(frame: RequestFrame, code: int) -> bytes:
    """Return a response frame with this error."""
    return encode_response(frame, AllocateProducerIdsResponse(error_code=code))


async def answer_scram_users(frame: RequestFrame, alter: AlterUser) -> bytes:
    """Return the response frame. Each user's changes are made together or not at all."""
    request, whole = decode_within(frame, AlterUserScramCredentialsRequest, BOUNDS)
    if not whole:
        return refuse_scram_users(frame, ErrorCode.INVALID_REQUEST)
    rows = [await _altered(request, user, alter) for user in users_in(request)]
    return encode_response(frame, AlterUserScramCredentialsResponse(results=rows))


def refuse_scram_users(frame: RequestFrame, code: int) -> bytes:
    """Return a response frame with this error for each user."""
    request, _ = decode_within(frame, AlterUserScramCredentialsRequest, BOUNDS)
    rows = [AlterUserScramCredentialsResult(user, code, None) for user in users_in(request)]
    return encode_response(frame, AlterUserScramCredentialsResponse(results=rows))


async def _altered(
    request: AlterUserScramCredentialsRequest, user: str, alter: AlterUser
) -> AlterUserScramCredentialsResult:
    try:
        changes = changes_of(request, user)
        texts = {name: None if change is None else _text(change) for name, change in changes.items()}
        await alter(user, texts)
    except ApiError as error:
        return AlterUserScramCredentialsResult(user, error.code, error.message)
    except Exception:
        log.exception("the credentials of user %r could not be altered", user)
        return AlterUserScramCredentialsResult(user, ErrorCode.UNKNOWN_SERVER_ERROR, None)
    return AlterUserScramCredentialsResult(user, ErrorCode.NONE, None)


def _text(credential: ScramCredential) -> str:
    """Return the credential in the format that brokers read (RFC 5802; Kafka: ScramCredentialUtils)."""
    parts = {
        "salt": credential.salt,
        "stored_key": credential.stored_key,
        "server_key": credential.server_key,
    }
    texts = [f"{name}={b64encode(value).decode()}" for name, value in parts.items()]
    return ",".join([*texts, f"iterations={credential.iterations}"])


CONTROLLER_ONLY_APIS = {
    ApiKey.ALLOCATE_PRODUCER_IDS: ControllerOnlyApi(
        Operation.CLUSTER_ACTION,
        lambda frame, active: answer_producer_ids(frame, active.allocate),
        refuse_producer_ids,
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: ControllerOnlyApi(
        Operation.ALTER,
        lambda frame, active: answer_scram_users(frame, active.alter_user),
        refuse_scram_users,
    ),
}


class ControllerEndpoint:
    """Answers requests with the services of the current term.

    `active` is None while another controller is active.
    """

    def __init__(self) -> None:
        load()
        self.active: ActiveController | None = None

    def safe_to_name(self, topics: Iterable[str]) -> list[str]:
        """Return the topics that a Metadata request may name.

        Brokers before 2.8 create missing internal topics on Metadata.
        """
        there = frozenset() if self.active is None else self.active.state.cluster.topics
        return [name for name in topics if name not in INTERNAL or name in there]

    def answer(self, frame: RequestFrame, caller: Caller) -> bytes | Awaitable[bytes]:
        """Answer the frame as far as the rights in `caller.rights` allow.

        See `server.dispatch.router.Router.answer`.

        Its API key is one of ANSWERED, or it is a config request about reassignd.
        """
        if self.active is None:
            return not_controller(frame)
        controller_only = CONTROLLER_ONLY_APIS.get(ApiKey(frame.api_key))
        if controller_only is None:
            return self.active.router.answer(frame, caller)
        if caller.rights is None or not caller.rights.allows(
            caller.principal, controller_only.operation, CLUSTER
        ):
            return controller_only.refuse(frame, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        return controller_only.answer(frame, self.active)


def served(key: int) -> range:
    """Return the served versions of an API in ANSWERED."""
    return range(1) if key in CONTROLLER_ONLY_APIS else ROUTES[key].versions


def not_controller(frame: RequestFrame) -> bytes:
    """Return a frame with NOT_CONTROLLER; the client looks up the controller again."""
    refusal = ApiError(ErrorCode.NOT_CONTROLLER, "This is not the controller: ask for metadata again.")
    controller_only = CONTROLLER_ONLY_APIS.get(ApiKey(frame.api_key))
    if controller_only is not None:
        return controller_only.refuse(frame, refusal.code)
    return refused(frame, refusal.code, refusal.message)
