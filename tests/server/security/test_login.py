"""The login of a connection, step by step, with the answers that Kafka gives."""

from collections.abc import Mapping

import pytest

from common.error_codes import ErrorCode
from controller.model.access import Operation
from controller.state.access import AclIndex
from protocol.frames import RequestFrame, decode_response, encode_request, parse_request, parse_response
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from server.dispatch.context import ANONYMOUS, CLUSTER, AllowAll, Caller, topic
from server.handlers import load
from server.security.acls import AclAuthorizer
from server.security.login import (
    OPEN,
    TRUSTED,
    Gate,
    Login,
    LoginEndedError,
    LoginRules,
    java_address,
    token_frame,
)
from server.security.mechanisms import InvalidTokenError, NewExchange, RefusedError
from server.security.subjects import NoMatchingRuleError, parse_rules
from tests.controller.acls import acl
from tests.server.fakes import FakeBroker
from tests.server.security.certificates import certificate, transport

load()

METADATA = parse_request(encode_request(MetadataRequest(), 12, 1, "me")[4:])


class Spoken:
    """A mechanism whose token is the user; `no` and `wrong` are refused, and `more` needs another token."""

    def __init__(self, expires_ms: int | None = None) -> None:
        self.user: str | None = None
        self.expires_ms = expires_ms

    def evaluate(self, token: bytes) -> bytes:
        if token == b"no":
            raise RefusedError("go away")
        if token == b"odd":
            raise RefusedError("not \ud800" + 40_000 * "!")
        if token == b"wrong":
            raise InvalidTokenError("a secret detail")
        if token == b"more":
            return b"challenge"
        self.user = token.decode()
        return b"welcome"


MECHANISMS: Mapping[str, NewExchange] = {"PLAIN": Spoken, "TEST": Spoken, "EXPIRES": lambda: Spoken(15_000)}


class Client:
    """A client of a connection. The epoch's clock shows 10 s."""

    def __init__(self, max_reauth_ms: int = 0) -> None:
        self.counted: list[tuple[int, int]] = []
        rules = LoginRules(MECHANISMS, lambda: 10_000, max_reauth_ms, lambda *pair: self.counted.append(pair))
        self.login = Login(rules)

    def principal(self) -> str | None:
        return self.login.principal

    def reads_raw_tokens(self) -> bool:
        return self.login.raw_tokens

    def take(self, frame: RequestFrame, now: float = 0.0) -> bytes | None:
        return self.login.take(frame, now)

    def versions(self, version: int = 3) -> bytes | None:
        request = ApiVersionsRequest("test", "1")
        frame = parse_request(encode_request(request, min(version, 4), 1, "me")[4:])
        return self.take(frame._replace(api_version=version))

    def shake(self, mechanism: str = "PLAIN", now: float = 0.0, version: int = 1) -> SaslHandshakeResponse:
        frame = parse_request(encode_request(SaslHandshakeRequest(mechanism), version, 1, "me")[4:])
        return handshake(self.take(frame, now), version)

    def send(self, token: bytes, now: float = 0.0) -> SaslAuthenticateResponse:
        frame = parse_request(encode_request(SaslAuthenticateRequest(token), 2, 1, "me")[4:])
        return authenticated(self.take(frame, now))

    def log_in(self, mechanism: str = "PLAIN", now: float = 0.0) -> SaslAuthenticateResponse:
        self.shake(mechanism, now)
        return self.send(b"anna", now)


def handshake(answer: bytes | None, version: int = 1) -> SaslHandshakeResponse:
    assert answer is not None
    return decode_response(parse_response(answer[4:], 17, version), SaslHandshakeResponse)


def authenticated(answer: bytes | None) -> SaslAuthenticateResponse:
    assert answer is not None
    return decode_response(parse_response(answer[4:], 36, 2), SaslAuthenticateResponse)


def refused(client: Client, token: bytes, now: float = 0.0) -> tuple[int, str | None]:
    """Return error and message of the answer to the token, after which the connection ends."""
    with pytest.raises(LoginEndedError) as raised:
        client.send(token, now)
    response = authenticated(raised.value.answer)
    return response.error_code, response.error_message


def test_a_client_asks_for_versions_chooses_a_mechanism_and_logs_in() -> None:
    client = Client()
    assert client.versions() is None
    offered = client.shake()
    assert (offered.error_code, offered.mechanisms) == (0, ("PLAIN", "TEST", "EXPIRES"))
    assert client.send(b"more").auth_bytes == b"challenge"
    assert client.principal() is None
    assert client.send(b"anna") == SaslAuthenticateResponse(0, "", b"welcome", 0)
    assert client.principal() == "User:anna"
    assert client.take(METADATA) is None
    assert client.counted == [(17, 0), (36, 0), (36, 0)]


def test_other_requests_before_a_login_end_the_connection() -> None:
    with pytest.raises(LoginEndedError, match="API key 3 before a login") as raised:
        Client().take(METADATA)
    assert raised.value.answer == b""


def test_versions_are_asked_for_once_unless_the_version_is_not_supported() -> None:
    client = Client()
    assert client.versions(99) is None
    assert client.versions() is None
    with pytest.raises(LoginEndedError, match="ApiVersions twice"):
        client.versions()


def test_an_unknown_mechanism_is_answered_with_the_known_ones() -> None:
    with pytest.raises(LoginEndedError, match="does not offer SASL mechanism 'GSSAPI'") as raised:
        Client().shake("GSSAPI")
    response = handshake(raised.value.answer)
    assert (response.error_code, response.mechanisms) == (33, ("PLAIN", "TEST", "EXPIRES"))


def test_a_refusal_has_its_message_or_that_of_invalid_credentials() -> None:
    client = Client()
    client.shake("TEST")
    assert refused(client, b"no") == (58, "go away")
    text = "Authentication failed during authentication due to invalid credentials with SASL mechanism TEST"
    assert refused(client, b"wrong") == (58, text)
    assert client.counted[-1] == (36, ErrorCode.SASL_AUTHENTICATION_FAILED)


def test_a_refusal_that_quotes_what_cannot_be_sent_is_answered_too() -> None:
    client = Client()
    client.shake("TEST")
    code, message = refused(client, b"odd")
    assert code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert message == "not ?" + 995 * "!"


def test_a_request_in_place_of_a_token_is_refused_with_its_own_response() -> None:
    client = Client()
    client.shake()
    with pytest.raises(LoginEndedError) as raised:
        client.shake()
    assert handshake(raised.value.answer).error_code == ErrorCode.ILLEGAL_SASL_STATE
    with pytest.raises(LoginEndedError, match="API key 999 during a login") as unknown:
        client.take(METADATA._replace(api_key=999))
    assert unknown.value.answer == b""


def test_versions_that_are_not_served_end_the_connection() -> None:
    client = Client()
    frame = parse_request(encode_request(SaslHandshakeRequest("PLAIN"), 1, 1, "me")[4:])
    with pytest.raises(LoginEndedError, match="SaslHandshake version 2 is not served"):
        client.take(frame._replace(api_version=2))
    client.shake()
    with pytest.raises(LoginEndedError, match="SaslAuthenticate version 3 is not served"):
        client.take(frame._replace(api_key=36, api_version=3))


def test_after_handshake_0_tokens_have_no_headers() -> None:
    client = Client()
    client.shake(version=0)
    assert client.reads_raw_tokens()
    assert client.take(token_frame(b"more")) == b"\0\0\0\x09challenge"
    assert client.take(token_frame(b"anna")) == b"\0\0\0\x07welcome"
    assert not client.reads_raw_tokens()
    assert client.principal() == "User:anna"


def test_a_refused_token_without_header_has_no_answer() -> None:
    client = Client()
    client.shake(version=0)
    with pytest.raises(LoginEndedError, match="a failed login: go away") as raised:
        client.take(token_frame(b"no"))
    assert raised.value.answer == b""


def test_a_session_ends_unless_the_client_logs_in_again() -> None:
    client = Client(max_reauth_ms=3_000)
    assert client.log_in().session_lifetime_ms == 3_000
    assert client.take(METADATA, now=3.0) is None
    assert client.log_in(now=2.5).session_lifetime_ms == 3_000
    assert client.take(METADATA, now=5.4) is None
    with pytest.raises(LoginEndedError, match="the session has expired"):
        client.take(METADATA, now=5.6)


@pytest.mark.parametrize(("max_reauth_ms", "lifetime"), [(0, 5_000), (3_000, 3_000), (9_000, 5_000)])
def test_a_session_ends_with_the_credentials(max_reauth_ms: int, lifetime: int) -> None:
    assert Client(max_reauth_ms).log_in("EXPIRES").session_lifetime_ms == lifetime


def test_a_handshake_without_an_end_of_the_session_is_left_to_the_router() -> None:
    client = Client()
    client.log_in()
    frame = parse_request(encode_request(SaslHandshakeRequest("PLAIN"), 1, 1, "me")[4:])
    assert client.take(frame) is None


def test_logins_follow_each_other_after_a_second() -> None:
    client = Client(max_reauth_ms=9_000)
    client.log_in()
    client.log_in(now=1.0)
    frame = parse_request(encode_request(SaslHandshakeRequest("PLAIN"), 1, 1, "me")[4:])
    assert client.take(frame, now=1.9) is None
    assert client.take(frame, now=2.0) is not None


def test_the_principal_cannot_be_changed() -> None:
    client = Client(max_reauth_ms=9_000)
    client.log_in()
    client.shake(now=1.0)
    text = "Cannot change principals during re-authentication from User.anna: User.bob"
    assert refused(client, b"bob", now=1.0) == (58, text)


def test_a_failed_second_login_is_named_so() -> None:
    client = Client(max_reauth_ms=9_000)
    client.log_in()
    client.shake(now=1.0)
    _, text = refused(client, b"wrong", now=1.0)
    assert text is not None
    assert text.startswith("Authentication failed during re-authentication due to invalid credentials")


def test_the_mechanism_cannot_be_changed() -> None:
    client = Client(max_reauth_ms=9_000)
    client.log_in()
    assert client.shake("TEST", now=1.0).error_code == 0
    with pytest.raises(LoginEndedError, match="'TEST' requested by client is not supported for re-auth"):
        client.send(b"anna", now=1.0)


CERTIFICATE = certificate("O=ops", "CN=ann")
CALLER = Caller(FakeBroker(), ANONYMOUS, "10.0.0.1:4711")
LOGIN = LoginRules({}, lambda: 0)


def test_an_open_gate_lets_everyone_in_without_a_name() -> None:
    assert OPEN.identified(CALLER, transport()) == CALLER
    assert OPEN.new_login() is None


def test_a_certificate_names_the_principal_by_the_rules() -> None:
    by_default, by_rule = Gate(mapping=parse_rules("")), Gate(mapping=parse_rules("RULE:CN=(.*),O=ops/$1/U"))
    assert by_default.identified(CALLER, transport(CERTIFICATE)).principal == "User:CN=ann,O=ops"
    assert by_rule.identified(CALLER, transport(CERTIFICATE)).principal == "User:ANN"
    assert by_rule.identified(CALLER, transport()).principal == ANONYMOUS
    with pytest.raises(NoMatchingRuleError):
        Gate(mapping=parse_rules("RULE:CN=bob/b/")).identified(CALLER, transport(CERTIFICATE))


def test_with_sasl_the_login_names_the_principal() -> None:
    gate = Gate(mapping=parse_rules(""), login=LOGIN)
    assert gate.identified(CALLER, transport(CERTIFICATE)).principal == ANONYMOUS
    assert gate.new_login() is not None


def test_the_rights_are_those_of_the_client_s_address() -> None:
    acls = AclIndex()
    acls.add(acl("orders", "User:*", host="10.0.0.1"))
    gate = Gate(AclAuthorizer(acls))
    rights = gate.identified(CALLER, transport()).rights
    elsewhere = gate.identified(CALLER._replace(peer="10.0.0.2:1"), transport()).rights
    assert rights is not None
    assert elsewhere is not None
    assert rights.allows("User:x", Operation.READ, topic("orders"))
    assert not elsewhere.allows("User:x", Operation.READ, topic("orders"))


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::a00:1", "2001:db8:0:0:0:0:a00:1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.1"),
        ("unknown", "unknown"),
    ],
)
def test_hosts_have_the_form_of_java(host: str, shown: str) -> None:
    assert java_address(host) == shown


def test_an_acl_for_an_ipv6_address_has_an_effect() -> None:
    acls = AclIndex()
    acls.add(acl("orders", "User:*", host="0:0:0:0:0:0:0:1"))
    rights = Gate(AclAuthorizer(acls)).identified(CALLER._replace(peer="::1:4711"), transport()).rights
    assert rights is not None
    assert rights.allows("User:x", Operation.READ, topic("orders"))


def test_connections_of_this_process_may_do_everything() -> None:
    rights = TRUSTED.identified(CALLER, transport()).rights
    assert isinstance(rights, AllowAll)
    assert rights.allows(ANONYMOUS, Operation.CLUSTER_ACTION, CLUSTER)
    assert Gate(login=LOGIN, trusted=True).new_login() is None
