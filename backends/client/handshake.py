"""Opens connections to brokers: TCP, TLS, API versions (KIP-511), and SASL (KIP-43, KIP-152, KIP-368)."""

import asyncio
import ssl
from typing import NamedTuple

from backends.client.connection import BrokerConnection
from backends.client.errors import (
    AuthenticationError,
    InDoubtError,
    UnreachableError,
    UnsupportedError,
)
from backends.client.security import PLAINTEXT, Credentials, Security
from common.address import Address
from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.api_versions_response import ApiVersionsResponse
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest

NEWEST_API_VERSIONS = 4
SASL_IN_FRAMES = 1
"""First SaslHandshake version after which tokens are sent in SaslAuthenticate requests."""

MAY_REQUIRE_SASL = "; the listener may require SASL: set security.protocol"
MAY_REQUIRE_CERTIFICATE = "; the listener may require a client certificate: set ssl.keystore.*"
NOT_TLS = "; if it is a port without TLS, set security.protocol"
MAY_REQUIRE_TLS = "; if it is a TLS port, set security.protocol"


class ClientSettings(NamedTuple):
    """Client id, software version and security of connections.

    KIP-511 allows letters, digits and dots in the version.
    """

    client_id: str = "reassignd"
    software_version: str = "0"
    security: Security = PLAINTEXT


async def open_connection(
    address: Address, client_settings: ClientSettings, timeout_seconds: float
) -> BrokerConnection:
    """Return a connection that is ready for requests.

    Raises UnreachableError, AuthenticationError or UnsupportedError (a broker too old for ApiVersions).
    """
    try:
        async with asyncio.timeout(timeout_seconds):
            connection = await _connect(address, client_settings)
            try:
                await _prepare(connection, client_settings, timeout_seconds)
            except BaseException:
                connection.abort("the connection could not be made ready")
                raise
    except TimeoutError as error:
        raise UnreachableError(f"{address} did not answer within {timeout_seconds:g} s") from error
    except InDoubtError as error:
        if isinstance(error.__cause__, ssl.SSLError):
            raise AuthenticationError(
                f"{address} refused the client certificate: {error.__cause__}"
            ) from error
        raise UnreachableError(str(error)) from error
    return connection


async def _connect(address: Address, client_settings: ClientSettings) -> BrokerConnection:
    host, port = address
    tls = client_settings.security.tls
    loop = asyncio.get_running_loop()
    try:
        _, connection = await loop.create_connection(
            lambda: BrokerConnection(address, client_settings.client_id),
            host,
            port,
            ssl=tls,
            server_hostname=None if tls is None else host,
        )
    except ssl.SSLCertVerificationError as error:
        raise AuthenticationError(
            f"the certificate of {address} is not to be trusted: {error.verify_message}"
        ) from error
    except OSError as error:
        # A port without TLS closes the connection after the first TLS bytes, or answers in its own protocol.
        hung_up = tls is not None and isinstance(error, ssl.SSLError | ConnectionResetError)
        hint = NOT_TLS if hung_up else ""
        raise UnreachableError(
            f"cannot connect to {address}: {str(error) or 'the connection was closed'}{hint}"
        ) from error
    return connection


async def _prepare(
    connection: BrokerConnection, client_settings: ClientSettings, timeout_seconds: float
) -> None:
    connection.hint = MAY_REQUIRE_TLS if client_settings.security.tls is None else MAY_REQUIRE_CERTIFICATE
    await _read_versions(connection, client_settings, timeout_seconds)
    if client_settings.security.sasl is None:
        connection.hint = MAY_REQUIRE_SASL
    else:
        await _authenticate(connection, client_settings.security.sasl, timeout_seconds)


async def _read_versions(
    connection: BrokerConnection, client_settings: ClientSettings, timeout_seconds: float
) -> None:
    request = ApiVersionsRequest("reassignd", client_settings.software_version)
    answer: ApiVersionsResponse = await connection.ask(request, timeout_seconds, NEWEST_API_VERSIONS)
    if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
        newest = next((row.max_version for row in answer.api_keys if row.api_key == ApiKey.API_VERSIONS), 0)
        answer = await connection.ask(request, timeout_seconds, min(newest, NEWEST_API_VERSIONS))
    if answer.error_code != ErrorCode.NONE:
        raise UnsupportedError(f"{connection.peer} refused ApiVersions: error {answer.error_code}")
    connection.versions = {
        row.api_key: range(row.min_version, row.max_version + 1) for row in answer.api_keys
    }


async def _authenticate(
    connection: BrokerConnection, credentials: Credentials, timeout_seconds: float
) -> None:
    mechanism = credentials.mechanism
    asked = SaslHandshakeRequest(mechanism)
    offer = await connection.ask(asked, timeout_seconds, SASL_IN_FRAMES)
    if offer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        offered = ", ".join(offer.mechanisms)
        raise AuthenticationError(f"{connection.peer} takes {offered}, not {mechanism}: set sasl.mechanism")
    if offer.error_code != ErrorCode.NONE:
        raise AuthenticationError(
            f"{connection.peer} asks for no SASL (error {offer.error_code}): set security.protocol"
        )
    exchange = credentials.exchange()
    message = next(exchange)
    while True:
        answer = await connection.ask(SaslAuthenticateRequest(message), timeout_seconds)
        if answer.error_code != ErrorCode.NONE:
            said = answer.error_message or f"error {answer.error_code}"
            raise AuthenticationError(
                f"{connection.peer} refused {credentials.username} by {mechanism}: {said}"
            )
        try:
            message = exchange.send(answer.auth_bytes)
        except StopIteration:
            break
        except AuthenticationError as error:
            raise AuthenticationError(f"{connection.peer}, {mechanism}: {error}") from error
    connection.lifetime_seconds = answer.session_lifetime_ms / 1000
