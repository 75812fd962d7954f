"""Messages that accompany the upstream's errors."""

import pytest

from protocol.apis import ApiKey
from protocol.frames import RequestFrame
from server.dispatch.context import Caller, unknown_principal
from server.gateway.services import only_named, reason
from tests.server.fakes import FakeBroker


def test_a_refusal_has_an_own_message_and_other_errors_keep_theirs() -> None:
    assert reason(31, "Principal bob at 10.0.0.1 is denied") == "Cluster authorization failed."
    assert reason(40, "Invalid value") == "Invalid value"


NAMELESS = unknown_principal("GSSAPI", "10.0.0.9:4711")


@pytest.mark.parametrize(
    ("principal", "key", "answer"),
    [
        (NAMELESS, ApiKey.ALTER_PARTITION_REASSIGNMENTS, b"refused 31"),
        (NAMELESS, ApiKey.INCREMENTAL_ALTER_CONFIGS, b"refused 31"),
        (NAMELESS, ApiKey.LIST_PARTITION_REASSIGNMENTS, b"answered"),
        ("User:alice", ApiKey.ALTER_PARTITION_REASSIGNMENTS, b"answered"),
        pytest.param(
            "User:unknown", ApiKey.ALTER_PARTITION_REASSIGNMENTS, b"answered", id="a user called so"
        ),
    ],
)
def test_only_orders_without_a_name_are_refused(principal: str, key: ApiKey, answer: bytes) -> None:
    named = only_named(lambda _, __: b"answered", lambda _, code, __: b"refused %d" % code)
    frame = RequestFrame(key, 0, 1, "me", memoryview(b""), known=True)
    assert named(frame, Caller(FakeBroker(), principal, "10.0.0.9:4711")) == answer
