"""A controller that its cluster's clients take for a broker: what concerns the controller is answered, the rest handed on.

ApiVersions is the answer of the broker that requests are handed to, with our versions of what we answer. While somebody else
is the controller, what concerns the controller is answered with NOT_CONTROLLER, and clients look for it elsewhere.
"""

from collections.abc import Awaitable, Callable
from struct import pack
from typing import Any

from protocol.apis import ApiKey
from protocol.errors import ApiError, DecodeError, ErrorCode
from protocol.frames import (
    RequestFrame,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    parse_request,
    parse_response,
)
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from server import producer_ids
from server.gateway.configs import is_ours
from server.handlers import load
from server.producer_ids import Allocate
from server.registry import ROUTES, Route
from server.router import Caller, Router

OWN = frozenset({
    ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.ALTER_PARTITION,
})  # fmt: skip
"""What a controller answers."""

CONFIGS = frozenset({ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS})
"""Any broker answers these, and knows all keys; but for our own id, and our own keys, which no broker checks."""

CHANGES = CONFIGS - {ApiKey.DESCRIBE_CONFIGS}
"""Those that may name keys of ours beside Kafka's."""

BROKER = 4
"""Kafka: ConfigResource.Type."""

Forward = Callable[[bytes], Awaitable[bytes]]
"""Hands a frame without its size to a broker; its answer likewise. Errors: OSError."""


class Deputy:
    """Answers as `Router.answer` does. `router` and `allocate` are there while we are the controller."""

    def __init__(self, forward: Forward, own_id: int) -> None:
        load()
        self._own_name = str(own_id)
        self.router: Router | None = None
        self.allocate: Allocate | None = None
        self._forward = forward

    def answer(self, frame: RequestFrame, caller: Caller) -> bytes | Awaitable[bytes]:
        """See `server.router.Router.answer`."""
        if frame.known and (frame.api_key in OWN or self._of_ours(frame)):
            if self.router is None:
                return self._not_controller(ROUTES[frame.api_key], frame)
            if frame.api_key in CHANGES and self._with_theirs(frame):
                return self._check_and_hand_on(frame, caller, self.router)
            return self.router.answer(frame, caller)
        if frame.api_key == ApiKey.ALLOCATE_PRODUCER_IDS and frame.known:
            if self.allocate is None:
                return producer_ids.refuse(frame, ErrorCode.NOT_CONTROLLER)
            return producer_ids.answer(frame, self.allocate)
        if frame.api_key == ApiKey.API_VERSIONS:
            return self._versions(frame)
        return self._hand_on(frame)

    def _of_ours(self, frame: RequestFrame) -> bool:
        """A request about configs that are ours."""
        if frame.api_key not in CONFIGS or frame.api_version not in ROUTES[frame.api_key].versions:
            return False
        return any(self._is_ours(resource) for resource in decode_request(frame).resources)

    def _is_ours(self, resource: Any) -> bool:
        return self._is_us(resource) or bool(_our_keys(resource))

    def _is_us(self, resource: Any) -> bool:
        return bool(resource.resource_type == BROKER and resource.resource_name == self._own_name)

    def _with_theirs(self, frame: RequestFrame) -> bool:
        """Keys of ours and of Kafka's in one request, none of it about our own id."""
        resources = decode_request(frame).resources
        return not any(map(self._is_us, resources)) and any(
            len(_our_keys(resource)) < len(resource.configs) for resource in resources
        )

    async def _check_and_hand_on(self, frame: RequestFrame, caller: Caller, router: Router) -> bytes:
        """Have our keys checked here, then a broker take them all: it checks its own, and we hear of ours as of any change."""
        request = decode_request(frame)
        ours = [
            resource._replace(configs=keys) for resource in request.resources if (keys := _our_keys(resource))
        ]
        trial = encode_request(
            request._replace(resources=ours, validate_only=True),
            frame.api_version,
            frame.correlation_id,
            frame.client_id,
        )
        answer = router.answer(parse_request(trial[4:]), caller)
        checked = answer if isinstance(answer, bytes) else await answer
        response = decode_response(parse_response(checked[4:], frame.api_key, frame.api_version))
        for row in response.responses:
            if row.error_code:
                refusal = ROUTES[frame.api_key].refuse(request, row.error_code, row.error_message)
                return encode_response(frame, refusal)
        return await self._hand_on(frame)

    def _not_controller(self, route: Route, frame: RequestFrame) -> bytes:
        refusal = ApiError(ErrorCode.NOT_CONTROLLER, "This is not the controller: ask for metadata again.")
        return encode_response(frame, route.refuse(decode_request(frame), refusal.code, refusal.message))

    async def _hand_on(self, frame: RequestFrame) -> bytes:
        answer = await self._asked(frame)
        return pack(">i", len(answer)) + answer

    async def _versions(self, frame: RequestFrame) -> bytes:
        answer = await self._asked(frame)
        theirs = parse_response(answer, ApiKey.API_VERSIONS, frame.api_version)
        response: ApiVersionsResponse = decode_response(theirs)
        if not frame.known or response.error_code:
            return pack(">i", len(answer)) + answer
        rows = {row.api_key: row for row in response.api_keys}
        for key in OWN:
            versions = ROUTES[key].versions
            rows[key] = ApiVersion(key, versions[0], versions[-1])
        rows[ApiKey.ALLOCATE_PRODUCER_IDS] = ApiVersion(ApiKey.ALLOCATE_PRODUCER_IDS, 0, 0)
        return encode_response(frame, response._replace(api_keys=[rows[key] for key in sorted(rows)]))

    async def _asked(self, frame: RequestFrame) -> bytes:
        try:
            return await self._forward(frame.payload)
        except OSError as error:
            raise DecodeError(f"no broker to hand API key {frame.api_key} on to: {error}") from error


def _our_keys(resource: Any) -> list[Any]:
    """Those of the resource's configs that no broker checks."""
    return [each for each in getattr(resource, "configs", None) or () if is_ours(each.name)]
