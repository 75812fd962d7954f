"""What is said beside the upstream's errors."""

from server.gateway.services import reason


def test_a_refusal_is_told_in_our_words_and_other_errors_in_theirs() -> None:
    assert reason(31, "Principal bob at 10.0.0.1 is denied") == "Cluster authorization failed."
    assert reason(40, "Invalid value") == "Invalid value"
