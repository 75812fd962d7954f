"""Secured servers under test: one with SASL over TLS and an authorizer, one with client certificates."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from kafka.admin import KafkaAdminClient, NewTopic

from tools import certificates
from tools.kafka_settings import client_properties
from tools.processes import Reassignd

SASL, TLS = "SASL_SSL", "SSL"
TOKENS = "OAUTHBEARER"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", TOKENS)
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
TOPIC = "orders"


@dataclass(frozen=True)
class SecuredServer:
    """A server with the users `admin`, a super user, and `alice`. Its topic is TOPIC."""

    protocol: str
    bootstrap: str
    folder: Path

    def file(self, name: str) -> Path:
        """Return the path of a certificate: `ca.pem` or `USER.pem`."""
        return self.folder / name

    def token_properties(self, token: str) -> Path:
        """Return a file with the configuration of Java clients, which read the token from another file."""
        written = self.folder / f"{abs(hash(token))}.jwt"
        written.write_text(token)
        handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
        properties = [
            client_properties(self.protocol, "", TOKENS, self.folder).replace(
                'unsecuredLoginStringClaim_sub=""', ""
            ),
            f"sasl.login.callback.handler.class={handler}",
            f"sasl.oauthbearer.token.endpoint.url={written.as_uri()}",
        ]
        path = written.with_suffix(".properties")
        path.write_text("\n".join(properties) + "\n")
        return path

    def properties(self, user: str, mechanism: str = "PLAIN", secret: str = "") -> Path:
        """Return a file with the configuration of Kafka's Java clients; `secret` replaces the password."""
        text = client_properties(self.protocol, user, mechanism, self.folder)
        path = self.folder / f"{user}-{mechanism}-{secret}.properties"
        path.write_text(text.replace(f"{user}-secret", secret) if secret else text)
        return path


def settings(protocol: str, folder: Path) -> dict[str, str]:
    """Return the settings of the server."""
    given = {
        "listener.security.protocol": protocol,
        "listener.tls.certificate.file": str(folder / "server.pem"),
        "authorizer.class.name": AUTHORIZER,
        "super.users": "User:admin",
    }
    if protocol == TLS:
        return given | {
            "listener.tls.client.ca.file": str(folder / "ca.pem"),
            "ssl.client.auth": "required",
            "ssl.principal.mapping.rules": "RULE:^CN=(.*?)$/$1/",
        }
    users = folder / "users"
    users.write_text("admin admin-secret\nalice alice-secret\n")
    users.chmod(0o600)
    return given | {"sasl.users.file": str(users), "sasl.enabled.mechanisms": ",".join(MECHANISMS)}


@contextlib.contextmanager
def running(
    protocol: str, folder: Path, more: Mapping[str, str] = MappingProxyType({})
) -> Iterator[SecuredServer]:
    """Run a server with three brokers, the topic, and more settings."""
    certificates.make(folder, ("server", "admin", "alice"))
    reassignd = Reassignd(folder / "data", {**settings(protocol, folder), **more}, 3)
    reassignd.start()
    server = SecuredServer(protocol, reassignd.bootstrap, folder)
    create_topic(server)
    yield server
    assert reassignd.stop() == 0


def create_topic(server: SecuredServer) -> None:
    """Create TOPIC as `admin`."""
    config = {"security_protocol": server.protocol, "ssl_cafile": str(server.file("ca.pem"))}
    if server.protocol == TLS:
        config |= dict.fromkeys(("ssl_certfile", "ssl_keyfile"), str(server.file("admin.pem")))
    else:
        config |= {
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": "admin",
            "sasl_plain_password": "admin-secret",
        }
    admin = KafkaAdminClient(bootstrap_servers=server.bootstrap, **config)
    admin.create_topics([NewTopic(TOPIC, 1, 2)])
    admin.close()
