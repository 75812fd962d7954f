"""SASL SCRAM, the server's side, by the library scramp (RFC 5802, RFC 7677; Kafka: ScramSaslServer).

The server knows the salted keys of the password only. Every error is an InvalidTokenError, except a different
authorization id: the client does not learn whether the user or the password is wrong.
"""

from collections.abc import Callable

from scramp import ScramException, ScramMechanism

from controller.model.access import ScramCredential
from server.security.mechanisms import (
    OTHER_AUTHORIZATION_ID,
    InvalidTokenError,
    RefusedError,
    by_delegation_token,
    parse_scram,
    unescaped,
)

Credentials = Callable[[str, str], ScramCredential | None]
"""Returns the credential of a user (first) for a mechanism (second); None if there is none."""


class ScramExchange:
    """Implements `server.security.mechanisms.Exchange`. `nonce` is the server's, by default a random one."""

    expires_ms = None

    def __init__(self, mechanism: str, credentials: Credentials, nonce: str | None = None) -> None:
        self._mechanism, self._credentials = mechanism, credentials
        self._server = ScramMechanism(mechanism).make_server(self._kept, s_nonce=nonce)
        self._claimed: str | None = None
        """The user in the first message."""
        self.user: str | None = None

    def evaluate(self, token: bytes) -> bytes:
        try:
            if self._claimed is None:
                self._claimed = self._begin(token)
                return str(self._server.get_server_first()).encode()
            self._server.set_client_final(token.decode(errors="replace"))
            self.user = self._claimed
            return str(self._server.get_server_final()).encode()
        except ScramException as error:
            raise InvalidTokenError(str(error.args[0])) from error

    def _begin(self, token: bytes) -> str:
        """Return the user that the first message names."""
        first = parse_scram(token)
        if first is None or by_delegation_token(first):
            raise InvalidTokenError("an invalid first SCRAM message, or one with a delegation token")
        # scramp takes no authorization id. The user's own one, which Kafka takes, is refused with the last
        # message.
        self._server.set_client_first(f"n,,{first['bare']}")
        if first["authorized"] not in (None, first["user"]):
            raise RefusedError(OTHER_AUTHORIZATION_ID)
        return unescaped(first["user"])

    def _kept(self, user: str) -> tuple[bytes, bytes, bytes, int] | None:
        found = self._credentials(user, self._mechanism)
        return None if found is None else (found.salt, found.stored_key, found.server_key, found.iterations)
