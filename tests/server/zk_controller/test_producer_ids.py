from common.error_codes import ErrorCode
from protocol.errors import ApiError
from protocol.frames import parse_response
from protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from server.zk_controller.producer_ids import Allocate, answer
from tests.frames import decode_response
from tests.server.zk_controller.test_endpoint import frame_of


async def answered(allocate: Allocate) -> AllocateProducerIdsResponse:
    encoded = await answer(frame_of(AllocateProducerIdsRequest(1, 7), 0), allocate)
    response: AllocateProducerIdsResponse = decode_response(parse_response(encoded[4:], 67, 0))
    return response


async def test_a_broker_gets_its_block() -> None:
    async def allocate(broker: int, epoch: int) -> tuple[int, int]:
        return broker * 1000, epoch

    assert await answered(allocate) == AllocateProducerIdsResponse(0, 0, 1000, 7)


async def test_a_refusal_is_answered() -> None:
    async def allocate(broker: int, epoch: int) -> tuple[int, int]:
        raise ApiError(ErrorCode.STALE_BROKER_EPOCH)

    assert (await answered(allocate)).error_code == 77


async def test_a_failure_is_answered_without_details() -> None:
    async def allocate(broker: int, epoch: int) -> tuple[int, int]:
        raise ValueError("secret")

    assert (await answered(allocate)).error_code == -1
