"""The two kinds of a failed login are different exceptions."""

from server.security.mechanisms import InvalidTokenError, RefusedError


def test_a_refusal_with_a_message_for_the_client_is_not_one_without() -> None:
    assert not issubclass(RefusedError, InvalidTokenError)
    assert not issubclass(InvalidTokenError, RefusedError)
