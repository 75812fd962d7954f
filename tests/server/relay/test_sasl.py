"""SaslHandshake (17) and SaslAuthenticate (36): both are relayed; the user of a login is recorded."""

import pytest

from protocol.codec.errors import DecodeError
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from server.dispatch.context import UNKNOWN
from server.relay.login import Login as LoginOfBroker
from server.relay.sasl import LARGEST, authenticate, handshake
from tests.server.relay.doubles import Talk, client, incoming
from tests.server.relay.logins import bearer

CHALLENGE = b'{"status":"invalid_token"}'


@pytest.mark.parametrize(
    ("mechanism", "code", "said", "authenticated"),
    [
        pytest.param("PLAIN", 0, b"", True, id="plain"),
        pytest.param("GSSAPI", 0, b"", True, id="another mechanism"),
        pytest.param("SCRAM-SHA-256", 0, b"r=nonce,s=salt,i=4096", False, id="scram begins"),
        pytest.param("SCRAM-SHA-256", 0, b"v=verifier", True, id="scram ends"),
        pytest.param("OAUTHBEARER", 0, CHALLENGE, False, id="an invalid token"),
        pytest.param("PLAIN", 58, b"", False, id="refused"),
        pytest.param("SCRAM-SHA-256", 58, b"v=verifier", False, id="refused in the end"),
    ],
)
@pytest.mark.parametrize("version", range(3))
async def test_authentication_ends_with_the_last_message_of_the_mechanism(
    version: int, mechanism: str, code: int, said: bytes, authenticated: bool
) -> None:
    who = client(authenticated=False)
    who.login = LoginOfBroker(mechanism)
    theirs = SaslAuthenticateResponse(code, None, said)
    answer = await Talk(authenticate, SaslAuthenticateRequest(b"token"), version, who).answer(theirs)
    assert answer == theirs
    assert who.authenticated is authenticated


async def test_a_failed_re_authentication_keeps_the_principal() -> None:
    who = client(authenticated=True)
    theirs = SaslAuthenticateResponse(58, "no")
    await Talk(authenticate, SaslAuthenticateRequest(b"token"), 2, who).answer(theirs)
    assert who.authenticated


FORGED = bearer({"sub": "admin"})
PLAIN, SCRAM = b"\0alice\0secret", b"n,,n=alice,r=nonce"
OPAQUE = b"n,,\x01auth=Bearer abc\x01\x01"


class Login:
    """A client that authenticates."""

    def __init__(self, principal: str = UNKNOWN) -> None:
        self.who = client(authenticated=False)
        self.who.caller = self.who.caller._replace(principal=principal)

    async def begin(self, mechanism: str, code: int = 0) -> None:
        await Talk(handshake, SaslHandshakeRequest(mechanism), 1, self.who).answer(
            SaslHandshakeResponse(code)
        )

    async def say(self, token: bytes, code: int = 0, answer: bytes = b"") -> str:
        """Return the client's principal after one exchange."""
        theirs = SaslAuthenticateResponse(code, None, answer)
        await Talk(authenticate, SaslAuthenticateRequest(token), 2, self.who).answer(theirs)
        return self.who.caller.principal


@pytest.fixture
def login() -> Login:
    return Login()


async def test_a_client_has_a_principal_once_the_upstream_confirms_the_login(login: Login) -> None:
    await login.begin("SCRAM-SHA-256")
    assert await login.say(SCRAM, 0, b"r=nonce,s=salt,i=4096") == UNKNOWN
    assert await login.say(b"c=biws,r=nonce,p=proof", 0, b"v=verifier") == "User:alice"


async def test_the_name_is_that_of_the_token_which_the_upstream_accepts(login: Login) -> None:
    await login.begin("OAUTHBEARER")
    assert await login.say(FORGED, 0, CHALLENGE) == UNKNOWN
    assert await login.say(bearer({"sub": "alice"})) == "User:alice"


async def test_a_login_sent_without_waiting_has_the_name_in_its_own_message(login: Login) -> None:
    shaken = Talk(handshake, SaslHandshakeRequest("PLAIN"), 1, login.who)
    alice = Talk(authenticate, SaslAuthenticateRequest(PLAIN), 2, login.who)
    Talk(handshake, SaslHandshakeRequest("OAUTHBEARER"), 1, login.who)
    Talk(authenticate, SaslAuthenticateRequest(FORGED), 2, login.who)
    await shaken.answer(SaslHandshakeResponse(0))
    await alice.answer(SaslAuthenticateResponse(0))
    assert login.who.caller.principal == "User:alice"


async def test_a_refused_login_leaves_no_principal(login: Login) -> None:
    await login.begin("PLAIN")
    assert await login.say(PLAIN, 58) == UNKNOWN


@pytest.mark.parametrize("mechanism", ["OAUTHBEARER", "GSSAPI"])
async def test_a_client_without_a_readable_name_has_its_mechanism_and_address(
    login: Login, mechanism: str
) -> None:
    await login.begin(mechanism)
    assert await login.say(OPAQUE) == f"unknown ({mechanism} from 10.0.0.9)"


async def test_a_further_name_after_a_login_is_ignored(login: Login) -> None:
    await login.begin("PLAIN")
    assert await login.say(PLAIN) == "User:alice"
    assert await login.say(FORGED, 34) == "User:alice"


async def test_a_refused_handshake_begins_no_login(login: Login) -> None:
    await login.begin("PLAIN", 33)
    assert await login.say(PLAIN) == "unknown (no mechanism from 10.0.0.9)"


async def test_a_success_without_a_login_leaves_no_name(login: Login) -> None:
    await login.begin("PLAIN")
    assert await login.say(PLAIN) == "User:alice"
    assert await login.say(PLAIN) == "unknown (no mechanism from 10.0.0.9)"


async def test_a_message_counts_as_held_until_its_answer(login: Login) -> None:
    talk = Talk(authenticate, SaslAuthenticateRequest(PLAIN), 2, login.who)
    assert talk.exchange.upstream is not None
    assert talk.exchange.upstream[4:] == bytes(talk.incoming.frame)


async def test_a_token_above_the_size_limit_is_refused() -> None:
    with pytest.raises(DecodeError, match="to authenticate"):
        Talk(authenticate, SaslAuthenticateRequest(bytes(LARGEST)), 2, client(authenticated=False))


def test_a_handshake_above_the_size_limit_is_refused() -> None:
    with pytest.raises(DecodeError, match="to authenticate"):
        handshake(incoming(SaslHandshakeRequest("x" * 30_000), 1)._replace(size=LARGEST + 1), client())
