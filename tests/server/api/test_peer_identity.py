"""The signed name and role of a client whose request another instance has passed on."""

import pytest

from server.api.errors import HttpError
from server.api.peer_identity import VALID_MS, PeerIdentity
from server.api.roles import Identity, Role

ANN = Identity("User:CN=Änn,O=Example", Role.VIEWER)
VIA = ANN._replace(via="standby")
SECRET = b"the secret of all instances"


class At:
    """A clock."""

    now = 1_000_000

    def __call__(self) -> int:
        return self.now


def test_the_client_arrives_as_it_was_authenticated() -> None:
    signed = PeerIdentity("standby", SECRET, At()).sign(ANN, "GET", "/v1/jobs?all=true")
    assert signed.isascii()
    assert PeerIdentity("active", SECRET, At()).verify(signed, "GET", "/v1/jobs?all=true") == VIA


@pytest.mark.parametrize(
    ("method", "target", "secret"),
    [
        ("POST", "/v1/jobs", SECRET),
        ("GET", "/v1/pause", SECRET),
        ("GET", "/v1/jobs", b"another secret of instances"),
    ],
)
def test_a_signature_is_worth_nothing_for_another_request_or_secret(
    method: str, target: str, secret: bytes
) -> None:
    signed = PeerIdentity("standby", SECRET, At()).sign(ANN, "GET", "/v1/jobs")
    with pytest.raises(HttpError, match="was not signed with the secret of this instance") as refused:
        PeerIdentity("active", secret, At()).verify(signed, method, target)
    assert refused.value.status == 403


@pytest.mark.parametrize("value", ["", ".", "x", "é", "eyJ9.00", "a" * 5000])
def test_anything_else_is_refused(value: str) -> None:
    with pytest.raises(HttpError, match="was not signed"):
        PeerIdentity("active", SECRET, At()).verify(value, "GET", "/v1/jobs")


def test_an_old_signature_is_refused() -> None:
    clock = At()
    peers = PeerIdentity("standby", SECRET, clock)
    signed = peers.sign(ANN, "GET", "/v1/jobs")
    clock.now += VALID_MS
    assert peers.verify(signed, "GET", "/v1/jobs") == VIA
    clock.now += 1
    with pytest.raises(
        HttpError, match=f"the clocks of this instance and standby differ by {VALID_MS + 1} ms"
    ):
        peers.verify(signed, "GET", "/v1/jobs")
