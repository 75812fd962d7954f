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
    encode_response,
    parse_response,
)
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from server import producer_ids
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

OUR_KEYS = "reassignment."
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
            if self.router is not None:
                return self.router.answer(frame, caller)
            return self._not_controller(ROUTES[frame.api_key], frame)
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
        if resource.resource_type == BROKER and resource.resource_name == self._own_name:
            return True
        keys = getattr(resource, "configs", None) or ()
        return any(key.name.startswith(OUR_KEYS) for key in keys)

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
