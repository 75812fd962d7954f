import asyncio
import socket
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from backends.client.errors import AuthenticationError, UnreachableError, UnsupportedError
from backends.client.handshake import ClientSettings, open_connection
from backends.client.security import Credentials, Security
from common.address import Address
from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from tests.backends.client.fake import HANG_UP, FakeBroker, broker

TLS = Path(__file__).parents[2] / "reassignd" / "tls"
NOBODY = ClientSettings()
ALICE = ClientSettings(security=Security(sasl=Credentials("PLAIN", "alice", "alice-secret")))
SCRAM = ClientSettings(security=Security(sasl=Credentials("SCRAM-SHA-256", "alice", "alice-secret")))


@pytest.fixture
async def fake() -> AsyncIterator[FakeBroker]:
    async with broker() as running:
        running.answers[SaslHandshakeRequest] = lambda _: SaslHandshakeResponse()
        running.answers[SaslAuthenticateRequest] = lambda _: SaslAuthenticateResponse(
            session_lifetime_ms=90_000
        )
        yield running


def context(server_side: bool = False, certificate: str | None = None, ca: str = "ca") -> ssl.SSLContext:
    result = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server_side else ssl.PROTOCOL_TLS_CLIENT)
    result.load_verify_locations(TLS / f"{ca}.pem")
    if certificate is not None:
        result.load_cert_chain(TLS / f"{certificate}.pem")
    return result


def by_tls(**options: Any) -> ClientSettings:
    return ClientSettings(security=Security(tls=context(**options)))


async def refusal(
    address: Address, client_settings: ClientSettings, kind: type[Exception], seconds: float = 5
) -> str:
    with pytest.raises(kind) as refused:
        await open_connection(address, client_settings, seconds)
    return str(refused.value)


async def opened(fake: FakeBroker, client_settings: ClientSettings = NOBODY) -> Any:
    """Open a connection, close it, and return it."""
    connection = await open_connection(fake.address, client_settings, 5)
    connection.abort("the test is over")
    await connection.ended.wait()
    return connection


async def test_the_handshake_reads_the_supported_versions(fake: FakeBroker) -> None:
    fake.answers[ApiVersionsRequest] = lambda _: ApiVersionsResponse(api_keys=[ApiVersion(46, 0, 7)])
    assert (await opened(fake)).versions == {46: range(8)}


async def test_the_handshake_sends_the_client_name(fake: FakeBroker) -> None:
    await opened(fake, ClientSettings(software_version="1.2"))
    assert fake.requests == [ApiVersionsRequest("reassignd", "1.2")]
    assert fake.versions == [4]


async def test_an_older_broker_is_asked_in_a_supported_version(fake: FakeBroker) -> None:
    too_new = ApiVersionsResponse(ErrorCode.UNSUPPORTED_VERSION, [ApiVersion(ApiKey.API_VERSIONS, 0, 2)])
    answers = iter([too_new, ApiVersionsResponse(api_keys=[ApiVersion(3, 0, 5)])])
    fake.answers[ApiVersionsRequest] = lambda _: next(answers)
    connection = await opened(fake)
    assert fake.versions == [4, 2]
    assert connection.versions == {3: range(6)}


async def test_a_broker_without_api_versions_is_too_old(fake: FakeBroker) -> None:
    fake.answers[ApiVersionsRequest] = lambda _: ApiVersionsResponse(ErrorCode.UNSUPPORTED_VERSION)
    assert "error 35" in await refusal(fake.address, NOBODY, UnsupportedError)


async def test_a_refused_tcp_connection_is_reported() -> None:
    assert await refusal(Address("127.0.0.1", 1), NOBODY, UnreachableError)


async def test_an_unknown_host_is_reported() -> None:
    text = await refusal(Address("no-such-host.invalid", 9092), NOBODY, UnreachableError)
    assert text.startswith("cannot connect to no-such-host.invalid:9092: ")


async def test_a_server_that_never_answers_is_reported(fake: FakeBroker) -> None:
    fake.answers[ApiVersionsRequest] = lambda _: None
    assert "within 0.05 s" in await refusal(fake.address, NOBODY, UnreachableError, 0.05)


@pytest.mark.parametrize(
    "answer", [HANG_UP, b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x50"]
)
async def test_a_server_that_is_not_a_broker_is_reported(fake: FakeBroker, answer: bytes) -> None:
    fake.answers[ApiVersionsRequest] = lambda _: answer
    assert "if it is a TLS port" in await refusal(fake.address, NOBODY, UnreachableError)


async def test_a_disconnect_suggests_that_the_port_requires_sasl(fake: FakeBroker) -> None:
    fake.answers[ListPartitionReassignmentsRequest] = lambda _: HANG_UP
    connection = await open_connection(fake.address, NOBODY, 5)
    with pytest.raises(Exception, match="the listener may require SASL"):
        await connection.ask(ListPartitionReassignmentsRequest(), 5)


async def test_plain_credentials_are_sent(fake: FakeBroker) -> None:
    connection = await opened(fake, ALICE)
    assert fake.asked == [
        SaslHandshakeRequest("PLAIN"),
        SaslAuthenticateRequest(b"\0alice\0alice-secret"),
    ]
    assert connection.lifetime_seconds == 90


async def test_an_unsupported_mechanism_is_reported_with_the_supported_ones(fake: FakeBroker) -> None:
    fake.answers[SaslHandshakeRequest] = lambda _: SaslHandshakeResponse(33, ["PLAIN", "GSSAPI"])
    text = await refusal(fake.address, SCRAM, AuthenticationError)
    assert text.endswith("takes PLAIN, GSSAPI, not SCRAM-SHA-256: set sasl.mechanism")


async def test_a_port_without_sasl_is_reported(fake: FakeBroker) -> None:
    fake.answers[SaslHandshakeRequest] = lambda _: SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE)
    assert "asks for no SASL" in await refusal(fake.address, SCRAM, AuthenticationError)


async def test_a_wrong_password_is_reported_in_one_line_without_the_password(fake: FakeBroker) -> None:
    fake.answers[SaslAuthenticateRequest] = lambda _: SaslAuthenticateResponse(58, "invalid credentials")
    text = await refusal(fake.address, ALICE, AuthenticationError)
    assert text.endswith("refused alice by PLAIN: invalid credentials")
    assert "alice-secret" not in text


async def test_a_server_that_does_not_know_the_password_is_refused(fake: FakeBroker) -> None:
    def answer(request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
        first, _, nonce = request.auth_bytes.partition(b"r=")
        if first == b"n,,n=alice,":
            return SaslAuthenticateResponse(auth_bytes=b"r=" + nonce + b"more,s=AAAAAAAAAAAAAAAA,i=4096")
        return SaslAuthenticateResponse(auth_bytes=b"v=" + b64encode(bytes(32)))

    fake.answers[SaslAuthenticateRequest] = answer
    assert "The server signature doesn't match" in await refusal(fake.address, SCRAM, AuthenticationError)


@pytest.mark.parametrize("request_", [SaslHandshakeRequest, SaslAuthenticateRequest])
async def test_a_connection_lost_during_the_handshake_can_be_retried(
    fake: FakeBroker, request_: type
) -> None:
    fake.answers[request_] = lambda _: HANG_UP
    await refusal(fake.address, ALICE, UnreachableError)


async def test_the_handshake_works_over_tls() -> None:
    async with broker(ssl=context(server_side=True, certificate="server")) as fake:
        await opened(fake, by_tls())


async def test_an_untrusted_certificate_is_refused() -> None:
    async with broker(ssl=context(server_side=True, certificate="eve")) as fake:
        text = await refusal(fake.address, by_tls(), AuthenticationError)
        assert "certificate of 127.0.0.1" in text


async def test_a_broker_without_tls_is_reported(fake: FakeBroker) -> None:
    assert "a port without TLS" in await refusal(fake.address, by_tls(), UnreachableError)


def asks_for_a_certificate() -> ssl.SSLContext:
    result = context(server_side=True, certificate="server")
    result.verify_mode = ssl.CERT_REQUIRED
    return result


async def test_a_client_certificate_is_presented() -> None:
    async with broker(ssl=asks_for_a_certificate()) as fake:
        await opened(fake, by_tls(certificate="ann"))


@pytest.mark.parametrize("certificate", [None, "eve"])
async def test_a_refused_client_certificate_is_not_retried(
    certificate: str | None,
) -> None:
    told = Event()

    def serve() -> None:
        # asyncio's server drops the TLS alert with the reason. Closing too early discards it as well.
        accepted = listening.accept()[0]
        with asks_for_a_certificate().wrap_socket(accepted, True, do_handshake_on_connect=False) as secured:
            with pytest.raises(ssl.SSLError):
                secured.do_handshake()
            told.wait()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(asyncio.to_thread(serve))
        text = await refusal(listening.getsockname(), by_tls(certificate=certificate), AuthenticationError)
        told.set()
        await serving
    assert "refused the client certificate" in text


async def test_a_disconnect_during_tls_suggests_that_a_certificate_is_required() -> None:
    async with broker(ssl=context(server_side=True, certificate="server")) as fake:
        fake.answers[ApiVersionsRequest] = lambda _: HANG_UP
        assert "ssl.keystore" in await refusal(fake.address, by_tls(), UnreachableError)
