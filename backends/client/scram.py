"""Client side of SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677, KIP-84), by the library scramp."""

from collections.abc import Generator

from scramp import ScramClient, ScramException

from backends.client.errors import AuthenticationError

MOST_ITERATIONS = 200_000
"""More iterations would block the event loop for too long. Kafka stores at most 16,384."""


def scram(
    mechanism: str, username: str, password: str, nonce: str | None = None
) -> Generator[bytes, bytes, None]:
    """Yield each client message and take the server's answer.

    Ends when the server has proved that it knows the password.

    Raises AuthenticationError when the server refuses, or does not prove its identity.
    """
    try:
        client = ScramClient([mechanism], username, "", c_nonce=nonce)
        # scramp would change the password by SASLprep; Kafka does not (ScramFormatter.normalize).
        client.password = password.encode()
        client.set_server_first((yield client.get_client_first().encode()).decode())
        if int(client.iterations) > MOST_ITERATIONS:
            raise AuthenticationError(
                f"the server requires {client.iterations} SCRAM iterations; at most {MOST_ITERATIONS} are"
                " supported"
            )
        client.set_server_final((yield client.get_client_final().encode()).decode())
    except (ScramException, UnicodeError) as error:
        raise AuthenticationError(f"the SCRAM exchange failed: {error}") from error
