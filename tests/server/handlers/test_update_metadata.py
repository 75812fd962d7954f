"""UpdateMetadata (6)."""

from protocol.messages.update_metadata_request import UpdateMetadataRequest
from protocol.messages.update_metadata_response import UpdateMetadataResponse
from server.handlers.update_metadata import handle, refuse
from tests.server.fakes import FakeBroker, answer, context


async def test_the_broker_gets_the_request_and_answers() -> None:
    broker, request = FakeBroker(), UpdateMetadataRequest(controller_id=9)
    response = await answer(handle, request, context(3, broker=broker))
    assert broker.told == [request]
    assert response.error_code == 11


def test_a_refusal_has_the_error_alone() -> None:
    assert refuse(UpdateMetadataRequest(), 31, "no") == UpdateMetadataResponse(error_code=31)
