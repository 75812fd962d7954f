"""The recorded client id is cut, on every way to a record."""

import pytest

from server.dispatch.client_id import LONGEST_CLIENT_ID, recorded_client_id


@pytest.mark.parametrize(
    ("given", "recorded"),
    [("me", "me"), (None, None), ("", ""), (32_767 * "x", LONGEST_CLIENT_ID * "x")],
)
def test_a_client_id_is_cut(given: str | None, recorded: str | None) -> None:
    assert recorded_client_id(given) == recorded
