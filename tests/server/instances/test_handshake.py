"""The proof of the shared secret, in both directions."""

import msgspec
import pytest

from server.instances.handshake import (
    PROTOCOL,
    Accepting,
    Connecting,
    InstanceIdentity,
    InstanceRefusedError,
    Session,
    refusal,
)

SECRET = b"the secret of all instances"
FIRST, SECOND = InstanceIdentity("first", "cluster"), InstanceIdentity("second", "cluster")
NONCES = b"1" * 32, b"2" * 32


def sides(*secrets: bytes, second: InstanceIdentity = SECOND) -> tuple[Connecting, Accepting]:
    one, other = secrets or (SECRET, SECRET)
    return Connecting(FIRST, one, NONCES[0]), Accepting(second, other, NONCES[1])


def shake_hands(connecting: Connecting, accepting: Accepting) -> tuple[Session, Session]:
    proof, accepted = accepting.finish(connecting.prove(accepting.answer(connecting.hello)))
    return connecting.finish(proof), accepted


def test_both_sides_learn_the_other_one_and_share_a_key_for_each_direction() -> None:
    connected, accepted = shake_hands(*sides())
    assert (connected.peer, accepted.peer) == (SECOND, FIRST)
    assert connected.sends == accepted.receives
    assert connected.receives == accepted.sends
    assert connected.sends != connected.receives


def test_the_secret_is_in_no_message() -> None:
    connecting, accepting = sides()
    hello = accepting.answer(connecting.hello)
    proof, _ = accepting.finish(connecting.prove(hello))
    said = connecting.hello + hello + connecting.prove(hello) + proof
    assert SECRET not in said
    assert SECRET.hex().encode() not in said


def test_another_secret_is_refused_by_the_accepting_side() -> None:
    connecting, accepting = sides(b"another secret of instances", SECRET)
    with pytest.raises(InstanceRefusedError, match="different shared secrets"):
        shake_hands(connecting, accepting)


def test_the_accepting_side_must_prove_it_too() -> None:
    connecting, accepting = sides()
    own_proof = connecting.prove(accepting.answer(connecting.hello))
    with pytest.raises(InstanceRefusedError, match="different shared secrets"):
        connecting.finish(own_proof)


def test_a_recorded_proof_is_worth_nothing_in_another_conversation() -> None:
    connecting, accepting = sides()
    proof = connecting.prove(accepting.answer(connecting.hello))
    later = Accepting(SECOND, SECRET, b"3" * 32)
    later.answer(connecting.hello)
    with pytest.raises(InstanceRefusedError, match="different shared secrets"):
        later.finish(proof)


def test_an_instance_of_another_cluster_is_refused_by_both_sides() -> None:
    connecting, accepting = sides(second=InstanceIdentity("second", "another"))
    with pytest.raises(InstanceRefusedError, match="it is a gateway of the cluster 'cluster'"):
        accepting.answer(connecting.hello)
    hello = Accepting(SECOND, SECRET, NONCES[1]).answer(connecting.hello)
    with pytest.raises(InstanceRefusedError, match="and this one of 'another'"):
        Connecting(InstanceIdentity("first", "another"), SECRET, NONCES[0]).prove(hello)


@pytest.mark.parametrize("version", [PROTOCOL - 1, PROTOCOL + 1])
def test_another_version_of_the_protocol_is_refused_by_both_sides(version: int) -> None:
    connecting, accepting = sides()
    hello = {"protocol": version, "instance": "other", "cluster": "cluster", "nonce": ""}
    for read in (accepting.answer, connecting.prove):
        with pytest.raises(
            InstanceRefusedError, match=f"it speaks version {version} .* this instance version {PROTOCOL}"
        ):
            read(msgspec.json.encode(hello))


def test_unknown_fields_of_another_release_are_ignored() -> None:
    connecting, accepting = sides()
    connecting.hello = connecting.hello.replace(b"{", b'{"of_tomorrow":1,')
    connecting._conversation = connecting.hello
    proof, session = accepting.finish(connecting.prove(accepting.answer(connecting.hello)))
    assert connecting.finish(proof).peer == SECOND
    assert session.peer == FIRST


NESTED = b'{"z":' + b"[" * 5_000 + b"]" * 5_000 + b"}"


@pytest.mark.parametrize("garbage", [b"", b"GET / HTTP/1.1", b"[]", b'{"mac": 1}', b"\xff", NESTED])
def test_anything_else_is_named_as_no_handshake(garbage: bytes) -> None:
    connecting, accepting = sides()
    for step in (accepting.answer, accepting.finish, connecting.prove, connecting.finish):
        with pytest.raises(InstanceRefusedError, match="not the handshake of a peer"):
            step(garbage)


def test_the_reason_of_a_refusal_reaches_the_other_side_as_one_line() -> None:
    with pytest.raises(InstanceRefusedError, match=r"^it refused this instance: no instances here$"):
        sides()[0].finish(refusal("no instances\nhere"))
