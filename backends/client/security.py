"""TLS and SASL settings of connections to brokers."""

import ssl
from collections.abc import Generator
from dataclasses import dataclass, field

from backends.client.errors import AuthenticationError
from protocol.scram import SCRAM_MECHANISMS

PLAIN = "PLAIN"
SASL_MECHANISMS = (PLAIN, *SCRAM_MECHANISMS)
"""The supported mechanisms."""


@dataclass(frozen=True)
class Credentials:
    """User name, password and SASL mechanism (one of SASL_MECHANISMS)."""

    mechanism: str
    username: str
    password: str = field(repr=False)

    def exchange(self) -> Generator[bytes, bytes, None]:
        """Yield each client message and take the server's answer. Raises AuthenticationError."""
        if self.mechanism == PLAIN:
            return _plain(self.username, self.password)
        from backends.client.scram import scram  # a tenth of a second

        return scram(self.mechanism, self.username, self.password)


@dataclass(frozen=True)
class Security:
    """TLS if `tls` is set, SASL if `sasl` is set."""

    tls: ssl.SSLContext | None = None
    sasl: Credentials | None = None

    @property
    def protocol(self) -> str:
        """Name of the security protocol (Kafka: SecurityProtocol)."""
        if self.sasl is not None:
            return "SASL_SSL" if self.tls is not None else "SASL_PLAINTEXT"
        return "SSL" if self.tls is not None else "PLAINTEXT"


PLAINTEXT = Security()


def _plain(username: str, password: str) -> Generator[bytes, bytes, None]:
    """RFC 4616."""
    answer = yield f"\0{username}\0{password}".encode()
    if answer:
        raise AuthenticationError("the server's answer to PLAIN makes no sense")
