"""SaslHandshake (17) and SaslAuthenticate (36): both are relayed; the user of a login is recorded."""

import json
from base64 import urlsafe_b64encode

import pytest

from protocol.errors import DecodeError
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from server.dispatch.authorizer import UNKNOWN
from server.relay.exchange import PASSED
from server.relay.sasl import LARGEST, authenticate, handshake, user_of
from tests.server.relay.doubles import Talk, client, incoming


@pytest.mark.parametrize(
    ("code", "said", "authenticated"),
    [
        pytest.param(0, b"", True, id="plain"),
        pytest.param(0, b"r=nonce,s=salt,i=4096", False, id="scram begins"),
        pytest.param(0, b"v=verifier", True, id="scram ends"),
        pytest.param(58, b"", False, id="refused"),
        pytest.param(58, b"v=verifier", False, id="refused in the end"),
    ],
)
@pytest.mark.parametrize("version", range(3))
async def test_authentication_ends_with_the_last_message_of_the_mechanism(
    version: int, code: int, said: bytes, authenticated: bool
) -> None:
    who = client(authenticated=False)
    theirs = SaslAuthenticateResponse(code, None, said)
    answer = await Talk(authenticate, SaslAuthenticateRequest(b"token"), version, who).answer(theirs)
    assert answer == theirs
    assert who.authenticated is authenticated


async def test_a_failed_re_authentication_keeps_the_principal() -> None:
    who = client(authenticated=True)
    theirs = SaslAuthenticateResponse(58, "no")
    await Talk(authenticate, SaslAuthenticateRequest(b"token"), 2, who).answer(theirs)
    assert who.authenticated


def bearer(claims: object) -> bytes:
    """Return the first message of OAUTHBEARER, with an unsigned token."""
    payload = urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
    return b"n,,\x01auth=Bearer e30." + payload + b".\x01\x01"


FORGED = bearer({"sub": "admin"})
PLAIN, SCRAM = b"\0alice\0secret", b"n,,n=alice,r=nonce"
OPAQUE = b"n,,\x01auth=Bearer abc\x01\x01"


@pytest.mark.parametrize(
    ("mechanism", "token", "user"),
    [
        ("PLAIN", PLAIN, "alice"),
        ("PLAIN", b"alice\0alice\0secret", "alice"),
        ("PLAIN", SCRAM, ""),
        ("PLAIN", b"\0a\0b\0c", ""),
        pytest.param("PLAIN", b"\0al\x1b[2Jice\0secret", "", id="what a terminal would obey"),
        pytest.param("PLAIN", b"\0" + 1001 * b"a" + b"\0secret", "", id="a name of a thousand letters"),
        ("SCRAM-SHA-256", SCRAM, "alice"),
        ("SCRAM-SHA-512", b"n,a=alice,n=alice,r=nonce", "alice"),
        ("SCRAM-SHA-512", b"n,,m=later,n=alice,r=nonce", "alice"),
        ("SCRAM-SHA-512", PLAIN, ""),
        pytest.param("SCRAM-SHA-256", SCRAM + b",x=" + FORGED[3:], "alice", id="a token SCRAM ignores"),
        ("SCRAM-SHA-256", b"n,,n=a=2Cb=3D2C,r=nonce", "a,b=2C"),
        ("SCRAM-SHA-256", b"n,,n=token-id,r=nonce,tokenauth=true", ""),
        ("SCRAM-SHA-256", b"n,,n=token-id,r=nonce,tokenauth=True", ""),
        ("SCRAM-SHA-256", b"c=biws,r=nonce,p=proof", ""),
        ("OAUTHBEARER", bearer({"sub": "alice", "exp": 1}), "alice"),
        ("OAUTHBEARER", bearer({"sub": "alice"}).replace(b"Bearer ", b"bEARER   "), "alice"),
        ("OAUTHBEARER", bearer({"sub": "alice"}).replace(b"n,,", b"n,a=alice,"), "alice"),
        pytest.param(
            "OAUTHBEARER", bearer({"sub": "alice"}).replace(b"n,,", b"n,a=admin,"), "", id="for another"
        ),
        ("OAUTHBEARER", b"n,a=alice,\x01auth=Bearer abc\x01\x01", "alice"),
        ("OAUTHBEARER", OPAQUE, ""),
        pytest.param("OAUTHBEARER", FORGED[:-1] + bearer({"sub": "alice"})[4:], "", id="two tokens"),
        ("OAUTHBEARER", bearer({"client_id": "alice"}), ""),
        ("OAUTHBEARER", bearer({"sub": "\ud800"}), ""),
        ("OAUTHBEARER", bearer(["alice"]), ""),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer e30.bm8ganNvbg.\x01\x01", ""),
        ("OAUTHBEARER", PLAIN, ""),
        ("GSSAPI", b"\x60\x82kerberos", ""),
        ("GSSAPI", PLAIN, ""),
        ("", b"", ""),
    ],
)
def test_a_token_names_its_user(mechanism: str, token: bytes, user: str) -> None:
    assert user_of(mechanism, token) == user


def test_a_token_that_is_nested_too_deeply_names_no_user() -> None:
    deep = urlsafe_b64encode(b"[" * 200_000).rstrip(b"=")
    assert user_of("OAUTHBEARER", b"n,,\x01auth=Bearer e30." + deep + b".\x01\x01") == ""


class Login:
    """A client that authenticates."""

    def __init__(self, principal: str = UNKNOWN) -> None:
        self.who = client(authenticated=False)
        self.who.caller = self.who.caller._replace(principal=principal)

    def begin(self, mechanism: str) -> None:
        assert handshake(incoming(SaslHandshakeRequest(mechanism), 1), self.who) is PASSED

    async def say(self, token: bytes, code: int = 0, answer: bytes = b"") -> str:
        """Return the client's principal after one exchange."""
        theirs = SaslAuthenticateResponse(code, None, answer)
        await Talk(authenticate, SaslAuthenticateRequest(token), 2, self.who).answer(theirs)
        return self.who.caller.principal


@pytest.fixture
def login() -> Login:
    return Login()


async def test_a_client_has_a_principal_once_the_upstream_confirms_the_login(login: Login) -> None:
    login.begin("SCRAM-SHA-256")
    assert await login.say(SCRAM, 0, b"r=nonce,s=salt,i=4096") == UNKNOWN
    assert await login.say(b"c=biws,r=nonce,p=proof", 0, b"v=verifier") == "User:alice"


async def test_a_name_sent_before_the_previous_answer_is_ignored(login: Login) -> None:
    login.begin("PLAIN")
    alice = Talk(authenticate, SaslAuthenticateRequest(PLAIN), 2, login.who)
    Talk(authenticate, SaslAuthenticateRequest(PLAIN.replace(b"alice", b"admin")), 2, login.who)
    await alice.answer(SaslAuthenticateResponse(0))
    assert login.who.caller.principal == "User:alice"


async def test_a_refused_login_leaves_no_principal(login: Login) -> None:
    login.begin("PLAIN")
    assert await login.say(PLAIN, 58) == UNKNOWN


async def test_a_refused_name_is_not_used_for_the_next_login(login: Login) -> None:
    login.begin("OAUTHBEARER")
    assert await login.say(FORGED, 58) == UNKNOWN
    assert await login.say(OPAQUE) == UNKNOWN


async def test_a_further_name_after_a_login_is_ignored(login: Login) -> None:
    login.begin("PLAIN")
    assert await login.say(PLAIN) == "User:alice"
    assert await login.say(FORGED, 34) == "User:alice"
    login.begin("OAUTHBEARER")
    assert await login.say(OPAQUE) == UNKNOWN


async def test_a_name_without_a_handshake_is_ignored(login: Login) -> None:
    assert await login.say(PLAIN) == UNKNOWN


async def test_a_name_in_the_format_of_another_mechanism_is_ignored(login: Login) -> None:
    login.begin("SCRAM-SHA-256")
    assert await login.say(PLAIN) == UNKNOWN


async def test_another_login_discards_the_previous_name(login: Login) -> None:
    login.begin("PLAIN")
    assert await login.say(PLAIN) == "User:alice"
    login.begin("GSSAPI")
    assert await login.say(b"\x60\x82kerberos") == UNKNOWN


async def test_a_success_without_a_login_leaves_no_principal(login: Login) -> None:
    login.begin("PLAIN")
    assert await login.say(PLAIN) == "User:alice"
    assert await login.say(PLAIN) == UNKNOWN


async def test_a_token_above_the_size_limit_is_refused() -> None:
    with pytest.raises(DecodeError, match="to authenticate"):
        Talk(authenticate, SaslAuthenticateRequest(bytes(LARGEST)), 2, client(authenticated=False))


def test_a_handshake_above_the_size_limit_is_refused() -> None:
    with pytest.raises(DecodeError, match="to authenticate"):
        handshake(incoming(SaslHandshakeRequest("x" * 30_000), 1)._replace(size=LARGEST + 1), client())
