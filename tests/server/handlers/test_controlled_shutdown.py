"""ControlledShutdown (7)."""

from common.error_codes import ErrorCode
from controller.messages.events import ControlledShutdown, ShutdownReply
from controller.model.cluster import TopicPartition
from controller.model.errors import DONE, Outcome
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.controlled_shutdown_response import ControlledShutdownResponse
from server.handlers.controlled_shutdown import handle, refuse
from tests.server.fakes import FakeDriver, answer, context, encodable


async def test_the_answer_has_the_partitions_that_the_broker_still_leads() -> None:
    driver = FakeDriver(ShutdownReply(DONE, [TopicPartition("foo", 1)]))
    response = await answer(handle, ControlledShutdownRequest(2, 7), context(3, driver=driver))
    encodable(response, 7)
    assert driver.events == [ControlledShutdown(2, 7)]
    assert [tuple(row) for row in response.remaining_partitions] == [("foo", 1)]


async def test_a_stale_broker_is_refused() -> None:
    driver = FakeDriver(ShutdownReply(Outcome(ErrorCode.STALE_BROKER_EPOCH), ()))
    response = await answer(handle, ControlledShutdownRequest(2, 6), context(3, driver=driver))
    assert response.error_code == 77


def test_a_refusal_has_the_error_alone() -> None:
    assert refuse(ControlledShutdownRequest(), 31, None) == ControlledShutdownResponse(error_code=31)
