"""Logins with each client: what a user sees, or how the client reports that it was refused."""

import subprocess
import time
from collections.abc import Callable
from typing import NamedTuple

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kafka.admin import KafkaAdminClient
from kafka.net.sasl.oauth import AbstractTokenProvider

from tests.clients.java_programs import HERE
from tests.clients.secured.servers import MECHANISMS, SASL, TLS, TOKENS, SecuredServer
from tests.server.security.tokens import unsecured
from tools.other_clients import GO_TOUR, NODE_MODULES

SECONDS = 60
WRONG = "wrong-secret"


class Attempt(NamedTuple):
    """A login. `secret` is the password, or the token."""

    server: SecuredServer
    mechanism: str
    user: str
    secret: str

    def arguments(self) -> list[str]:
        """Return the arguments of the programs in other languages."""
        certificates = [str(self.server.file(name)) for name in ("ca.pem", f"{self.user}.pem")]
        return [
            self.server.bootstrap,
            self.server.protocol,
            self.mechanism,
            self.user,
            self.secret,
            *certificates,
        ]


def attempt(server: SecuredServer, mechanism: str, user: str, *, wrong: bool = False) -> Attempt:
    """Return a login of the user; with a `wrong` password, or a token that has expired."""
    if mechanism != TOKENS:
        return Attempt(server, mechanism, user, WRONG if wrong else f"{user}-secret")
    now = int(time.time())
    expiry = now - 60 if wrong else now + 600
    return Attempt(server, mechanism, user, unsecured(sub=user, iat=now - 120, exp=expiry))


class Client(NamedTuple):
    """A client. `log_in` returns "topics a,b", or a line that begins with "refused "."""

    name: str
    log_in: Callable[[Attempt], str]
    mechanisms: tuple[str, ...] = MECHANISMS
    needs: Callable[[], bool] = lambda: True


class _Token(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, value: str) -> None:
        super().__init__()
        self.value = value

    def token(self) -> str:
        return self.value


def kafka_python(tried: Attempt) -> str:
    """Log in with kafka-python."""
    server = tried.server
    config = {"security_protocol": server.protocol, "ssl_cafile": str(server.file("ca.pem"))}
    if server.protocol == TLS:
        config |= dict.fromkeys(("ssl_certfile", "ssl_keyfile"), str(server.file(f"{tried.user}.pem")))
    else:
        config |= {
            "sasl_mechanism": tried.mechanism,
            "sasl_plain_username": tried.user,
            "sasl_plain_password": tried.secret,
            "sasl_oauth_token_provider": _Token(tried.secret),
        }
    try:
        admin = KafkaAdminClient(bootstrap_servers=server.bootstrap, bootstrap_timeout_ms=5_000, **config)
    except Exception as error:  # noqa: BLE001 - what it raises is what the test looks at
        return f"refused {error}"
    try:
        return _topics(admin.list_topics())
    finally:
        admin.close()


def confluent(tried: Attempt) -> str:
    """Log in with confluent-kafka (librdkafka)."""
    server, said = tried.server, []
    config: dict[str, object] = {
        "bootstrap.servers": server.bootstrap,
        "security.protocol": server.protocol,
        "ssl.ca.location": str(server.file("ca.pem")),
        "error_cb": lambda error: said.append(str(error)),
    }
    if server.protocol == TLS:
        config |= dict.fromkeys(
            ("ssl.certificate.location", "ssl.key.location"), str(server.file(f"{tried.user}.pem"))
        )
    else:
        config |= {
            "sasl.mechanism": tried.mechanism,
            "sasl.username": tried.user,
            "sasl.password": tried.secret,
        }
    if tried.mechanism == TOKENS:
        config["oauth_cb"] = lambda _: (tried.secret, time.time() + 600, tried.user, {})
    admin = AdminClient(config)
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            admin.poll(0)
            return _topics(admin.list_topics(timeout=0.5).topics)
        except KafkaException as error:
            admin.poll(0)
            if any("_AUTHENTICATION" in each for each in said) or time.monotonic() > deadline:
                return f"refused {' '.join(said)} {error}"


def program(*command: str) -> Callable[[Attempt], str]:
    """Return a login with a program in another language, which prints one line."""

    def log_in(tried: Attempt) -> str:
        done = subprocess.run(
            [*command, *tried.arguments()], capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr[-1_000:]
        return done.stdout.strip()

    return log_in


NODE = ("env", f"NODE_PATH={NODE_MODULES}", "node", str(HERE / "node" / "login.js"))
WITHOUT_TOKENS = MECHANISMS[:3]

CLIENTS = (
    Client("kafka-python", kafka_python),
    Client("confluent-kafka", confluent),
    Client("sarama", program(str(GO_TOUR), "login", "sarama"), needs=GO_TOUR.exists),
    Client("franz-go", program(str(GO_TOUR), "login", "franz-go"), needs=GO_TOUR.exists),
    # kafka-go has no OAUTHBEARER.
    Client("kafka-go", program(str(GO_TOUR), "login", "kafka-go"), WITHOUT_TOKENS, GO_TOUR.exists),
    Client("kafkajs", program(*NODE), needs=NODE_MODULES.exists),
)

LOGINS = [(client, SASL, mechanism) for client in CLIENTS for mechanism in client.mechanisms] + [
    (client, TLS, "") for client in CLIENTS
]


def _topics(names: object) -> str:
    return "topics " + ",".join(sorted(names))  # type: ignore[call-overload]
