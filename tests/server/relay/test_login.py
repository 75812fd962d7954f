"""Which user a login has: the one in the broker's own log, whatever a client sends in whatever order."""

import itertools
from base64 import urlsafe_b64encode
from collections import deque
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.client.scram import scram as client_side
from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.frames import parse_request
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from protocol.scram import SHA_256
from server.dispatch.context import UNKNOWN
from server.relay.login import user_of
from server.relay.sasl import authenticate, handshake
from server.security.login import Login, LoginEndedError, LoginRules
from server.security.mechanisms import BearerExchange, NewExchange, PlainExchange
from server.security.scram import ScramExchange
from server.security.scram_credentials import password_credential
from server.security.tokens import UnsecuredTokens
from tests.examples import examples
from tests.server.relay.doubles import Talk, client, finished
from tests.server.relay.logins import bearer
from tests.server.security.tokens import unsecured

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
        pytest.param("SCRAM-SHA-256", SCRAM + b",x=" + FORGED[4:], "alice", id="a token SCRAM ignores"),
        ("SCRAM-SHA-256", b"n,,n=a=2Cb=3D2C,r=nonce", "a,b=2C"),
        ("SCRAM-SHA-256", b"n,,n=token-id,r=nonce,tokenauth=true", ""),
        ("SCRAM-SHA-256", b"n,,n=token-id,r=nonce,tokenauth=True", ""),
        ("SCRAM-SHA-256", b"n,,n=token-id,r=nonce,tokenauth=false,tokenauth=true", ""),
        pytest.param("SCRAM-SHA-256", SCRAM + b",TOKENAUTH=TRUE", "alice", id="an extension Kafka ignores"),
        ("SCRAM-SHA-256", b"c=biws,r=nonce,p=proof", ""),
        ("OAUTHBEARER", bearer({"sub": "alice", "exp": 1}), "alice"),
        ("OAUTHBEARER", bearer({"sub": "alice"}).replace(b"Bearer ", b"bEARER   "), "alice"),
        ("OAUTHBEARER", bearer({"sub": "alice"}).replace(b"n,,", b"n,a=alice,"), "alice"),
        pytest.param(
            "OAUTHBEARER", bearer({"sub": "alice"}).replace(b"n,,", b"n,a=admin,"), "", id="for another"
        ),
        ("OAUTHBEARER", b"n,a=alice,\x01auth=Bearer abc\x01\x01", "alice"),
        ("OAUTHBEARER", OPAQUE, ""),
        pytest.param(
            "OAUTHBEARER", FORGED[:-1] + bearer({"sub": "alice"})[4:], "alice", id="the last of two"
        ),
        pytest.param(
            "OAUTHBEARER", bearer({"sub": "alice"}, b" and more"), "alice", id="text after the claims"
        ),
        ("OAUTHBEARER", b"n,a=a=2Cb,\x01auth=Bearer a+b/c~=\x01\x01", "a=2Cb"),
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


CREDENTIALS = {user: password_credential(user, SHA_256, "secret") for user in ("alice", "admin", "bob")}
"""One salt for each user, so that all exchanges fit together."""


def scram_exchange() -> ScramExchange:
    """Return the broker's side; everyone has the password `secret`."""
    return ScramExchange(SHA_256.name, lambda user, _: CREDENTIALS.get(user), "broker")


def scram(user: str) -> list[bytes]:
    """Return both messages of a client with the right password."""
    client = client_side(SHA_256.name, user, "secret", "abc")
    first = next(client)
    return [first, client.send(scram_exchange().evaluate(first))]


def token(user: str, **claims: Any) -> bytes:
    return f"n,,\x01auth=Bearer {unsecured(sub=user, **claims)}\x01\x01".encode()


EXPIRED = token("admin", exp=901)
MESSAGES = {
    "PLAIN": [b"\0alice\0secret", b"alice\0alice\0secret", b"\0admin\0wrong"],
    "OAUTHBEARER": [token("alice"), EXPIRED, EXPIRED[:-1] + token("alice")[4:], FORGED, b"\x01"],
    SHA_256.name: [*scram("alice"), scram("admin")[0], *scram("bob")],
    "GSSAPI": [b"\x60\x82kerberos"],
}
"""The right messages of alice and bob, and wrong ones of admin."""


@st.composite
def logins(draw: st.DrawFn) -> list[str | bytes]:
    """Return a handshake and messages, most of them of its mechanism."""
    mechanism = draw(st.sampled_from([*MESSAGES]))
    others = st.sampled_from([each for known in MESSAGES.values() for each in known])
    message = st.sampled_from(MESSAGES[mechanism]) | st.sampled_from(MESSAGES[mechanism]) | others
    return [mechanism, *draw(st.lists(message, min_size=1, max_size=3))]


class Relayed:
    """A client before a broker as Kafka's.

    `server.security.login`, which is compared with Kafka step by step.

    The client may send without waiting for answers.
    """

    def __init__(self) -> None:
        self.who = client(authenticated=False)
        self.who.caller = self.who.caller._replace(principal=UNKNOWN)
        self.sent: deque[Talk] = deque()
        self.now = 0.0
        mechanisms: dict[str, NewExchange] = {
            "PLAIN": lambda: PlainExchange(lambda: {"alice": "secret", "admin": "other"}),
            "OAUTHBEARER": lambda: BearerExchange(lambda text: UnsecuredTokens().validate(text, 1_000_000)),
            SHA_256.name: scram_exchange,
        }
        self.broker = Login(LoginRules(mechanisms, lambda: 1_000_000, max_reauth_ms=60_000))

    def send(self, step: str | bytes) -> None:
        if isinstance(step, str):
            self.sent.append(Talk(handshake, SaslHandshakeRequest(step), 1, self.who))
        else:
            self.sent.append(Talk(authenticate, SaslAuthenticateRequest(step), 2, self.who))

    async def answered(self) -> bool:
        """Let the broker take the next request; return whether it keeps the connection."""
        talk, self.now = self.sent.popleft(), self.now + 0.7
        ended = False
        try:
            answer = self.broker.take(parse_request(bytes(talk.incoming.frame)), self.now)
        except LoginEndedError as error:
            answer, ended = error.answer, True
        if answer:
            await finished(talk.exchange, answer)
        elif not ended:
            # The login is over, and the broker's router refuses such requests.
            late = (
                SaslHandshakeResponse
                if talk.incoming.api_key == ApiKey.SASL_HANDSHAKE
                else SaslAuthenticateResponse
            )
            await talk.answer(late(ErrorCode.ILLEGAL_SASL_STATE))
        return not ended


@settings(max_examples=examples(300))
@given(st.lists(logins(), min_size=1, max_size=3), st.integers(1, 5))
async def test_the_user_is_the_one_that_the_broker_has_authenticated(
    steps: list[list[str | bytes]], ahead: int
) -> None:
    relayed = Relayed()
    unsent = deque(itertools.chain(*steps))
    while unsent or relayed.sent:
        while unsent and len(relayed.sent) < ahead:
            relayed.send(unsent.popleft())
        if not await relayed.answered():
            return
        assert relayed.who.caller.principal == (relayed.broker.principal or UNKNOWN)
