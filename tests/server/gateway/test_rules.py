"""Which rule there is for which key."""

import pytest

from protocol.errors import DecodeError
from server.gateway.exchange import PASSED
from server.gateway.rules import rules_of
from server.gateway.versions import SERVED
from tests.server.gateway.doubles import FakeCore, FakePorts, asked_as, client

RULES = rules_of(FakeCore().core, FakePorts())


def head(key: int, version: int) -> bytes:
    return key.to_bytes(2) + version.to_bytes(2) + bytes(40)


@pytest.mark.parametrize("key", sorted(SERVED.keys() - {18}))
def test_a_version_that_is_not_shown_is_not_served(key: int) -> None:
    with pytest.raises(DecodeError, match=f"API key {key} version {SERVED[key][-1] + 1} is not served"):
        RULES[key](asked_as(head(key, SERVED[key][-1] + 1)), client())


def test_raw_sasl_tokens_are_not_served() -> None:
    with pytest.raises(DecodeError, match="API key 17 version 0 is not served"):
        RULES[17](asked_as(head(17, 0)), client())
    assert RULES[17](asked_as(head(17, 1)), client()) is PASSED


@pytest.mark.parametrize("key", [78, 79])
def test_what_is_hidden_is_not_served(key: int) -> None:
    with pytest.raises(DecodeError, match=f"API key {key} is not served"):
        RULES[key](asked_as(head(key, 1)), client())


def test_fetches_pass() -> None:
    assert RULES[1](asked_as(head(1, 15), 1000), client()) is PASSED


@pytest.mark.parametrize("key", [8, 16, 35, 66])
def test_most_keys_have_no_rule(key: int) -> None:
    assert key not in RULES
