"""DescribeLogDirs (35)."""

from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from server.handlers.describe_log_dirs import handle, refuse
from tests.server.fakes import FakeBroker, answer, context


async def test_the_addressed_broker_answers() -> None:
    broker, request = FakeBroker(), DescribeLogDirsRequest(None)
    response = await answer(handle, request, context(4, broker=broker))
    assert broker.told == [request]
    assert response.results[0].log_dir == "/d0"


def test_a_refusal_has_the_error_alone() -> None:
    assert refuse(DescribeLogDirsRequest(), 31, "no") == DescribeLogDirsResponse(error_code=31)
