"""DescribeClientQuotas (48)."""

from protocol.messages.describe_client_quotas_request import DescribeClientQuotasRequest
from server.handlers.describe_client_quotas import handle, refuse
from tests.server.fakes import answer, context, encodable


async def test_there_are_no_quotas() -> None:
    response = encodable(await answer(handle, DescribeClientQuotasRequest(), context(1)), 48)
    assert (response.error_code, response.error_message, response.entries) == (0, None, ())


def test_a_refusal_has_the_error_and_no_entries() -> None:
    refused = encodable(refuse(DescribeClientQuotasRequest(), 31, "no"), 48)
    assert (refused.error_code, refused.error_message, refused.entries) == (31, "no", None)
