"""SaslAuthenticate (36): relayed, and its success noted."""

import json
from base64 import urlsafe_b64encode

import pytest

from protocol.errors import DecodeError
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from server.gateway.exchange import Client
from server.gateway.sasl import LARGEST, authenticate, user_of
from tests.server.gateway.doubles import Talk, client


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
async def test_authentication_ends_with_the_mechanisms_last_word(
    version: int, code: int, said: bytes, authenticated: bool
) -> None:
    who = client(authenticated=False)
    theirs = SaslAuthenticateResponse(code, None, said)
    answer = await Talk(authenticate, SaslAuthenticateRequest(b"token"), version, who).answer(theirs)
    assert answer == theirs
    assert who.authenticated is authenticated


async def test_a_failed_re_authentication_changes_nothing_of_ours() -> None:
    who = client(authenticated=True)
    theirs = SaslAuthenticateResponse(58, "no")
    await Talk(authenticate, SaslAuthenticateRequest(b"token"), 2, who).answer(theirs)
    assert who.authenticated


def bearer(claims: object) -> bytes:
    """The first message of OAUTHBEARER, with a token that is not signed."""
    payload = urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
    return b"n,,\x01auth=Bearer e30." + payload + b".\x01\x01"


FORGED = bearer({"sub": "admin"})
PLAIN, SCRAM = b"\0alice\0secret", b"n,,n=alice,r=nonce"


@pytest.mark.parametrize(
    ("token", "user"),
    [
        (PLAIN, "alice"),
        (b"alice\0alice\0secret", "alice"),
        (SCRAM, "alice"),
        pytest.param(SCRAM + b",x=" + FORGED[3:], "alice", id="a token where SCRAM ignores it"),
        pytest.param(b"c=biws,r=nonce,x=" + FORGED[3:] + b",p=proof", "", id="the same in the end"),
        pytest.param(FORGED[:-1] + bearer({"sub": "alice"})[4:], "", id="two tokens"),
        (b"n,,n=a=2Cb=3D2C,r=nonce", "a,b=2C"),
        (b"n,,n=token-id,r=nonce,tokenauth=true", ""),
        (b"c=biws,r=nonce,p=proof", ""),
        (b"n,a=alice,\x01auth=Bearer abc\x01\x01", "alice"),
        (b"n,,\x01auth=Bearer abc\x01\x01", ""),
        (bearer({"sub": "alice", "exp": 1}), "alice"),
        (bearer({"client_id": "alice"}), ""),
        (bearer(["alice"]), ""),
        (b"n,,\x01auth=Bearer e30.bm8ganNvbg.\x01\x01", ""),
        (b"\x60\x82kerberos", ""),
        (b"", ""),
    ],
)
def test_who_a_token_is_from(token: bytes, user: str) -> None:
    assert user_of(token) == user


async def said(who: Client, token: bytes, code: int, answer: bytes = b"") -> str:
    """The client's principal after one exchange."""
    theirs = SaslAuthenticateResponse(code, None, answer)
    await Talk(authenticate, SaslAuthenticateRequest(token), 2, who).answer(theirs)
    return who.caller.principal


async def test_a_client_has_its_name_once_the_upstream_has_taken_it() -> None:
    who = client(authenticated=False)
    nobody = who.caller.principal
    assert await said(who, SCRAM, 0, b"r=nonce,s=salt,i=4096") == nobody
    assert await said(who, b"c=biws,r=nonce,p=proof", 0, b"v=verifier") == "User:alice"


async def test_a_name_that_comes_before_the_answer_to_another_does_not_count() -> None:
    who = client(authenticated=False)
    alice = Talk(authenticate, SaslAuthenticateRequest(PLAIN), 2, who)
    Talk(authenticate, SaslAuthenticateRequest(PLAIN.replace(b"alice", b"admin")), 2, who)
    await alice.answer(SaslAuthenticateResponse(0))
    assert who.caller.principal == "User:alice"


async def test_a_name_that_the_upstream_refuses_is_nobodys() -> None:
    who = client(authenticated=False)
    nobody = who.caller.principal
    assert await said(who, PLAIN, 58) == nobody


async def test_a_token_too_large_is_refused() -> None:
    with pytest.raises(DecodeError, match="to authenticate"):
        Talk(authenticate, SaslAuthenticateRequest(bytes(LARGEST)), 2, client(authenticated=False))
