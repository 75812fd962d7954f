"""Messages that accompany the upstream's errors."""

from server.gateway.services import reason


def test_a_refusal_has_an_own_message_and_other_errors_keep_theirs() -> None:
    assert reason(31, "Principal bob at 10.0.0.1 is denied") == "Cluster authorization failed."
    assert reason(40, "Invalid value") == "Invalid value"
