"""A ZooKeeper with two ports: SASL on one; TLS, client certificates and SASL on the other."""

from pathlib import Path

from kazoo.security import make_digest_acl_credential

from tools import certificates
from tools.ports import free_port
from tools.zookeeper_cluster import ZookeeperCluster

PROVIDER = "org.apache.zookeeper.server.auth"
MODULE = f"{PROVIDER}.DigestLoginModule"
SECRET = "kafka-secret"  # noqa: S105 (of a test cluster)


class SecuredZookeeper(ZookeeperCluster):
    """A cluster whose brokers log in to ZooKeeper as `kafka`, with `zookeeper.set.acl`."""

    def __init__(self, folder: Path, brokers: int) -> None:
        super().__init__(folder, brokers, protocol="3.9", settings={"zookeeper.set.acl": "true"})
        self._secure_port = free_port()
        self.tls_address = f"localhost:{self._secure_port}/kafka"
        certificates.make(folder, ["server", "kafka"])
        self.change_password(SECRET)

    def change_password(self, password: str) -> None:
        """Set the password of `kafka` for the next start of ZooKeeper; the brokers always use SECRET."""
        users = f'Server {{ {MODULE} required user_kafka="{password}" user_ann="ann-secret"; }};\n'
        (self.folder / "jaas.conf").write_text(users + _section("kafka", SECRET))

    def zookeeper_properties(self) -> dict[str, str]:
        return {
            **super().zookeeper_properties(),
            "authProvider.sasl": f"{PROVIDER}.SASLAuthenticationProvider",
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "secureClientPort": str(self._secure_port),
            "secureClientPortAddress": "127.0.0.1",
            "ssl.keyStore.location": str(self.folder / "server.pem"),
            "ssl.trustStore.location": str(self.folder / "ca.pem"),
        }

    def java_options(self) -> tuple[str, ...]:
        digest = make_digest_acl_credential("super", SECRET)
        return (
            f"-Djava.security.auth.login.config={self.folder / 'jaas.conf'}",
            f"-Dzookeeper.DigestAuthenticationProvider.superDigest={digest}",
        )

    def login(self, user: str = "kafka", password: str = SECRET) -> dict[str, str]:
        """Return the settings with which reassignd logs in by SASL."""
        file = self.folder / f"{user}-{password}.conf"
        file.touch(0o600)
        file.write_text(_section(user, password))
        return {"zookeeper.jaas.file": str(file)}

    def tls(self) -> dict[str, str]:
        """Return the settings with which reassignd connects over TLS."""
        return {
            "zookeeper.connect": self.tls_address,
            "zookeeper.ssl.client.enable": "true",
            "zookeeper.tls.ca.file": str(self.folder / "ca.pem"),
            "zookeeper.tls.certificate.file": str(self.folder / "kafka.pem"),
        }


def _section(user: str, password: str) -> str:
    return f'Client {{ {MODULE} required username="{user}" password="{password}"; }};\n'
