import pytest

from backends.broker_commands.channel import connect
from backends.client.channel import connector
from backends.client.handshake import Caller
from backends.client.security import Credentials, Security
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from tests.backends.client.fake import HANG_UP, FakeBroker, broker

LIST = ListPartitionReassignmentsRequest()
CALLER = Caller(security=Security(sasl=Credentials("PLAIN", "us", "secret")))


def asks_for_sasl(fake: FakeBroker, error: int = 0) -> None:
    """It takes whoever comes, or refuses."""
    fake.answers[SaslHandshakeRequest] = lambda _: SaslHandshakeResponse(0, ("PLAIN",))
    fake.answers[SaslAuthenticateRequest] = lambda _: SaslAuthenticateResponse(error, None)


async def test_in_plain_text_nothing_is_said_before_the_first_request() -> None:
    assert connector(Caller()) is connect


async def test_a_channel_authenticates_and_then_carries_requests() -> None:
    async with broker() as fake:
        asks_for_sasl(fake)
        channel = await connector(CALLER)(*fake.address)
        assert await channel.request(LIST, 0) == ListPartitionReassignmentsResponse()
        channel.close()


async def test_a_connection_that_is_lost_is_an_os_error() -> None:
    async with broker() as fake:
        asks_for_sasl(fake)
        channel = await connector(CALLER)(*fake.address)
        fake.answers[ListPartitionReassignmentsRequest] = lambda _: HANG_UP
        with pytest.raises(OSError, match="closed the connection"):
            await channel.request(LIST, 0)


async def test_credentials_that_are_refused_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async with broker() as fake:
        asks_for_sasl(fake, error=58)
        opens = connector(CALLER)
        for _ in range(3):
            with pytest.raises(OSError, match="refused us by PLAIN"):
                await opens(*fake.address)
    assert len(caplog.messages) == 1
    assert "secret" not in caplog.text
