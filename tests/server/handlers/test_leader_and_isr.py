"""LeaderAndIsr (4)."""

from protocol.messages.leader_and_isr_request import LeaderAndIsrRequest
from protocol.messages.leader_and_isr_response import LeaderAndIsrResponse
from server.handlers.leader_and_isr import handle, refuse
from tests.server.fakes import FakeBroker, answer, context


async def test_the_broker_gets_the_request_and_answers() -> None:
    broker, request = FakeBroker(), LeaderAndIsrRequest(controller_id=9)
    response = await answer(handle, request, context(3, broker=broker))
    assert broker.told == [request]
    assert response.error_code == 11


def test_a_refusal_has_the_error_alone() -> None:
    assert refuse(LeaderAndIsrRequest(), 31, "no") == LeaderAndIsrResponse(error_code=31)
