"""StopReplica (5)."""

from protocol.messages.stop_replica_request import StopReplicaRequest
from protocol.messages.stop_replica_response import StopReplicaResponse
from server.handlers.stop_replica import handle, refuse
from tests.server.fakes import FakeBroker, answer, context


async def test_the_broker_gets_the_request_and_answers() -> None:
    broker, request = FakeBroker(), StopReplicaRequest(controller_id=9)
    response = await answer(handle, request, context(3, broker=broker))
    assert broker.told == [request]
    assert response.error_code == 11


def test_a_refusal_has_the_error_alone() -> None:
    assert refuse(StopReplicaRequest(), 31, "no") == StopReplicaResponse(error_code=31)
