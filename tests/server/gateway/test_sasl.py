"""SaslAuthenticate (36): relayed, and its success noted."""

import pytest

from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from server.gateway.sasl import authenticate
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
