"""Who the client of a connection is: by TLS certificate, anonymous, or by a login by SASL.

The login is that of one connection (KIP-43, KIP-152, KIP-368; Kafka: SaslServerAuthenticator).

Before the login a client may ask for ApiVersions once, and begin with SaslHandshake. Everything else ends the
connection, as does a failed login; its error is sent first where Kafka sends one. After a login the requests
pass to the router, until the session ends: then the client must log in again on the same connection.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from struct import unpack

from common.error_codes import ErrorCode
from common.tls import peer_certificate
from protocol.apis import ApiKey
from protocol.frames import RequestFrame, decode_request, encode_response
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from server.dispatch.context import ANONYMOUS, AllowAll, Caller
from server.dispatch.registry import ROUTES
from server.dispatch.router import refused
from server.security.acls import AclAuthorizer
from server.security.mechanisms import Exchange, InvalidTokenError, NewExchange, RefusedError
from server.security.subjects import PrincipalMapping, distinguished_name

API_VERSIONS = range(5)
HANDSHAKES = range(2)
AUTHENTICATES = range(3)

RAW_TOKEN = -1
"""The API version of a token that was sent without a request header, after SaslHandshake 0."""

AGAIN_SECONDS = 1.0
"""Kafka: a client may log in again after this time; an earlier handshake is refused."""

MESSAGE_LENGTH = 1_000
"""Characters of an error message at most. The protocol has room for 32767 bytes."""


def token_frame(payload: bytes) -> RequestFrame:
    """Return a token without a request header as a frame."""
    return RequestFrame(ApiKey.SASL_AUTHENTICATE, RAW_TOKEN, 0, None, memoryview(payload), known=True)


class LoginEndedError(Exception):
    """The connection is to be closed. `answer` is to be sent before, if there is one."""

    def __init__(self, reason: str, answer: bytes = b"") -> None:
        super().__init__(reason)
        self.answer = answer


@dataclass(frozen=True, slots=True)
class LoginRules:
    """How clients of a listener log in.

    `mechanisms` begin a login by name; `max_reauth_ms` is the longest session, 0 for no limit
    (Kafka: connections.max.reauth.ms). `wall_ms` returns the milliseconds since the epoch. `count` is called
    with the API key and error code of each answer.
    """

    mechanisms: Mapping[str, NewExchange]
    wall_ms: Callable[[], int]
    max_reauth_ms: int = 0
    count: Callable[[int, int], None] = lambda _key, _code: None


class Login:
    """The state of the login. Times `now` are in seconds, of any clock that never goes back."""

    def __init__(self, rules: LoginRules) -> None:
        self._rules = rules
        self._has_versions = False
        self._mechanism = ""
        self._exchange: Exchange | None = None
        self._bad_mechanism = ""
        """The message for a client that began to log in again with another mechanism."""
        self._session_ends: float | None = None
        self._began_again: float | None = None
        self.raw_tokens = False
        """The next frames of the connection are tokens without request headers."""
        self.principal: str | None = None

    def take(self, frame: RequestFrame, now: float) -> bytes | None:
        """Return the answer to the request; None if the router is to answer it. Raises LoginEndedError."""
        if self._exchange is not None or self._bad_mechanism:
            return self._take_token(frame, now)
        if self.principal is not None:
            return self._take_later(frame, now)
        if frame.api_key == ApiKey.API_VERSIONS:
            self._take_versions(frame)
            return None
        if frame.api_key == ApiKey.SASL_HANDSHAKE:
            return self._shake_hands(frame)
        raise LoginEndedError(f"API key {frame.api_key} before a login, where the listener requires SASL")

    def _take_versions(self, frame: RequestFrame) -> None:
        if self._has_versions:
            raise LoginEndedError("ApiVersions twice before a login")
        # An unsupported version is answered with the supported ones; then the client asks again.
        self._has_versions = frame.api_version in API_VERSIONS

    def _take_later(self, frame: RequestFrame, now: float) -> bytes | None:
        if frame.api_key == ApiKey.SASL_HANDSHAKE and self._may_begin_again(now):
            return self._shake_hands(frame)
        if self._session_ends is not None and now > self._session_ends:
            raise LoginEndedError("the session has expired, and the client did not log in again")
        return None

    def _may_begin_again(self, now: float) -> bool:
        """Return whether a handshake begins another login. Otherwise the router refuses it."""
        if self._session_ends is None:
            return False
        if self._began_again is not None and now - self._began_again < AGAIN_SECONDS:
            return False
        self._began_again = now
        return True

    def _shake_hands(self, frame: RequestFrame) -> bytes:
        if frame.api_version not in HANDSHAKES:
            raise LoginEndedError(f"SaslHandshake version {frame.api_version} is not served")
        wanted, offered = decode_request(frame, SaslHandshakeRequest).mechanism, list(self._rules.mechanisms)
        begin = self._rules.mechanisms.get(wanted)
        if begin is None:
            code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            answer = self._encoded(frame, SaslHandshakeResponse(code, offered), code)
            shown = wanted[:40]
            raise LoginEndedError(f"the listener does not offer SASL mechanism {shown!r}", answer)
        if self.principal is not None and wanted != self._mechanism:
            self._bad_mechanism = (
                f"SASL mechanism '{wanted}' requested by client is not supported for re-authentication of"
                f" mechanism '{self._mechanism}'"
            )
        else:
            self._mechanism, self._exchange = wanted, begin()
        self.raw_tokens = frame.api_version == 0
        return self._encoded(frame, SaslHandshakeResponse(0, offered), 0)

    def _take_token(self, frame: RequestFrame, now: float) -> bytes:
        if self._bad_mechanism or self._exchange is None:
            raise LoginEndedError(self._bad_mechanism)
        if frame.api_version == RAW_TOKEN:
            return self._take_raw(bytes(frame.body), self._exchange, now)
        if frame.api_key != ApiKey.SASL_AUTHENTICATE:
            raise LoginEndedError(f"API key {frame.api_key} during a login", _out_of_turn(frame))
        if frame.api_version not in AUTHENTICATES:
            raise LoginEndedError(f"SaslAuthenticate version {frame.api_version} is not served")
        token = decode_request(frame, SaslAuthenticateRequest).auth_bytes
        try:
            answer = self._evaluated(token, self._exchange)
        except RefusedError as error:
            raise self._refused(frame, str(error), str(error)) from error
        except InvalidTokenError as error:
            again = "re-authentication" if self.principal else "authentication"
            text = (
                f"Authentication failed during {again} due to invalid credentials with SASL mechanism"
                f" {self._mechanism}"
            )
            raise self._refused(frame, text, f"{text} ({error})") from error
        lifetime = self._complete(self._exchange, now)
        return self._encoded(frame, SaslAuthenticateResponse(0, "", answer, lifetime), 0)

    def _take_raw(self, token: bytes, exchange: Exchange, now: float) -> bytes:
        try:
            answer = self._evaluated(token, exchange)
        except (RefusedError, InvalidTokenError) as error:
            self._rules.count(ApiKey.SASL_AUTHENTICATE, ErrorCode.SASL_AUTHENTICATION_FAILED)
            raise LoginEndedError(f"a failed login: {error}") from error
        self._complete(exchange, now)
        self._rules.count(ApiKey.SASL_AUTHENTICATE, 0)
        return len(answer).to_bytes(4, "big") + answer

    def _evaluated(self, token: bytes, exchange: Exchange) -> bytes:
        answer = exchange.evaluate(token)
        if exchange.user is not None and self.principal not in (None, f"User:{exchange.user}"):
            before = (self.principal or "").replace(":", ".", 1)
            raise RefusedError(
                f"Cannot change principals during re-authentication from {before}: User.{exchange.user}"
            )
        return answer

    def _complete(self, exchange: Exchange, now: float) -> int:
        """End the login if the exchange is complete. Return the session's lifetime in ms; 0 for no limit."""
        if exchange.user is None:
            return 0
        self.principal, self._exchange, self.raw_tokens = f"User:{exchange.user}", None, False
        limits = [self._rules.max_reauth_ms] if self._rules.max_reauth_ms else []
        if exchange.expires_ms is not None:
            limits.append(exchange.expires_ms - self._rules.wall_ms())
        lifetime = max(0, min(limits)) if limits else 0
        self._session_ends = now + lifetime / 1000 if limits else None
        return lifetime

    def _refused(self, frame: RequestFrame, message: str, reason: str) -> LoginEndedError:
        """Return the error that ends the connection after an answer with the message."""
        code = ErrorCode.SASL_AUTHENTICATION_FAILED
        # A mechanism may quote what the client has sent: text that is too long, or that cannot be encoded.
        message = message[:MESSAGE_LENGTH].encode(errors="replace").decode()
        return LoginEndedError(reason, self._encoded(frame, SaslAuthenticateResponse(code, message), code))

    def _encoded(
        self, frame: RequestFrame, response: SaslHandshakeResponse | SaslAuthenticateResponse, code: int
    ) -> bytes:
        self._rules.count(frame.api_key, code)
        return encode_response(frame, response)


def _out_of_turn(frame: RequestFrame) -> bytes:
    """Return the answer to a request that comes instead of a token; empty if the API is not served."""
    route = ROUTES.get(frame.api_key)
    if route is None or frame.api_version not in route.versions:
        return b""
    text = f"Unexpected Kafka request of type {route.api_key.name} during SASL authentication."
    return refused(frame, ErrorCode.ILLEGAL_SASL_STATE, text)


@dataclass(frozen=True, slots=True)
class Gate:
    """The security of a listener. Without arguments everyone is anonymous.

    `authorizer` decides for each connection with the address of its client. With `login` clients log in by
    SASL. `mapping` names those with a certificate. `trusted` connections come from this process: they need
    neither.
    """

    authorizer: AclAuthorizer | None = None
    login: LoginRules | None = None
    mapping: PrincipalMapping | None = None
    trusted: bool = False

    def identified(self, caller: Caller, transport: asyncio.BaseTransport) -> Caller:
        """Return the caller of a new connection, with its principal as far as it is known and its rights.

        Raises NoMatchingRuleError for a certificate that no rule of `mapping` names, and ValueError for one
        that cannot be read.
        """
        if self.trusted:
            return caller._replace(rights=AllowAll())
        principal = ANONYMOUS
        certificate = peer_certificate(transport)
        if certificate and self.mapping is not None and self.login is None:
            principal = f"User:{self.mapping.name(distinguished_name(certificate))}"
        if self.authorizer is None:
            return caller._replace(principal=principal)
        host = java_address(caller.peer.rpartition(":")[0])
        return caller._replace(principal=principal, rights=self.authorizer.seen_from(host))

    def new_login(self) -> Login | None:
        """Return the login of a new connection; None if it needs none."""
        return None if self.login is None or self.trusted else Login(self.login)


def java_address(host: str) -> str:
    """Return the address as ACLs name it: as Java's `InetAddress.getHostAddress` writes it, without `::`."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return ":".join(f"{group:x}" for group in unpack(">8H", address.packed))


OPEN = Gate()
TRUSTED = Gate(trusted=True)
