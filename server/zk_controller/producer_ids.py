"""AllocateProducerIds (67), version 0: a broker requests a block of producer ids (KIP-730).

Errors: STALE_BROKER_EPOCH, UNKNOWN_SERVER_ERROR.
"""

import logging
from collections.abc import Awaitable, Callable

from common.error_codes import ErrorCode
from protocol.errors import ApiError
from protocol.frames import RequestFrame, decode_request, encode_response
from protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse

log = logging.getLogger(__name__)

Allocate = Callable[[int, int], Awaitable[tuple[int, int]]]
"""Takes a broker's id and epoch; returns the first id of the block and its length. Raises ApiError."""


async def answer(frame: RequestFrame, allocate: Allocate) -> bytes:
    """Return the response frame."""
    request = decode_request(frame, AllocateProducerIdsRequest)
    try:
        start, size = await allocate(request.broker_id, request.broker_epoch)
    except ApiError as error:
        return refuse(frame, error.code)
    except Exception:
        log.exception("no producer ids for broker %d", request.broker_id)
        return refuse(frame, ErrorCode.UNKNOWN_SERVER_ERROR)
    return encode_response(frame, AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=size))


def refuse(frame: RequestFrame, code: int) -> bytes:
    """Return a response frame with this error."""
    return encode_response(frame, AllocateProducerIdsResponse(error_code=code))
