"""The port between a login and its SASL mechanism, and the two kinds of failure."""

from collections.abc import Callable
from typing import Protocol


class RefusedError(Exception):
    """The login is refused with this message, which the client gets (Kafka: SaslAuthenticationException)."""


class InvalidTokenError(Exception):
    """The login is refused. The client does not get the message, only that its credentials are invalid.

    So it does not learn whether a user exists (Kafka: SaslException).
    """


class Exchange(Protocol):
    """The server's side of one login."""

    @property
    def user(self) -> str | None:
        """The name of the user when the login is complete, else None."""
        ...

    @property
    def expires_ms(self) -> int | None:
        """When the credentials expire, in milliseconds since the epoch; None if they do not, or not yet known."""
        ...

    def evaluate(self, token: bytes, /) -> bytes:
        """Take the client's next token; return the answer. Raises RefusedError or InvalidTokenError."""
        ...


NewExchange = Callable[[], Exchange]
"""Begins a login with one mechanism."""

OTHER_AUTHORIZATION_ID = (
    "Authentication failed: Client requested an authorization id that is different from username"
)
