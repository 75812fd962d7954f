"""The secured embedded cluster as a client in Python sees it: logins, ACLs, users, and their durability."""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest
from kafka import TopicPartition
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    KafkaAdminClient,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka.net.sasl.oauth import AbstractTokenProvider

from reassignd.embedded import EmbeddedCluster
from tests.reassignd.runtime.listeners.test_tls import TLS_KEYS
from tests.server.security.tokens import jwks, signed, unsecured

T = TypeVar("T")

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.fixture
def users(tmp_path: Path) -> dict[str, str]:
    """Settings with the users `admin` and `anna`, whose passwords are their names with -secret."""
    path = tmp_path / "users"
    path.write_text("admin admin-secret\nanna anna-secret\n")
    path.chmod(0o600)
    return {"listener.security.protocol": "SASL_PLAINTEXT", "sasl.users.file": str(path)}


def login(user: str, mechanism: str = "PLAIN") -> dict[str, Any]:
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": f"{user}-secret",
    }


class Token(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, value: str) -> None:
        super().__init__()
        self.value = value

    def token(self) -> str:
        return self.value


async def use(
    cluster: EmbeddedCluster, config: Mapping[str, Any], work: Callable[[KafkaAdminClient], T]
) -> T:
    """Run the work with an admin client in another thread."""

    def run() -> T:
        admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers, **config)
        try:
            return work(admin)
        finally:
            admin.close()

    return await asyncio.to_thread(run)


def topics(admin: KafkaAdminClient) -> list[str]:
    return sorted(admin.list_topics())


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_users_log_in_and_see_what_they_may(mechanism: str, users: dict[str, str]) -> None:
    async with EmbeddedCluster(2, settings=users | AUTHORIZER) as cluster:
        await cluster.create_topic("orders", [[1, 2]])
        assert await use(cluster, login("admin", mechanism), topics) == ["orders"]
        assert await use(cluster, login("anna", mechanism), topics) == []


@pytest.mark.parametrize("signature", ["unsecured", "signed"])
async def test_tokens_log_in(signature: str, tmp_path: Path) -> None:
    now = int(time.time())
    settings = {"listener.security.protocol": "SASL_PLAINTEXT", "sasl.enabled.mechanisms": "OAUTHBEARER"}
    token = unsecured(sub="admin", iat=now - 1, exp=now + 60)
    if signature == "signed":
        pytest.importorskip("jwt", reason="the extra oauth is not installed")
        (tmp_path / "keys.json").write_text(jwks("one"))
        settings["sasl.oauthbearer.jwks.endpoint.url"] = (tmp_path / "keys.json").as_uri()
        token = signed(sub="admin", iat=now - 1, exp=now + 60)
    config = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token_provider": Token(token),
    }
    async with EmbeddedCluster(2, settings=settings | AUTHORIZER) as cluster:
        await cluster.create_topic("orders", [[1, 2]])
        assert await use(cluster, config, topics) == ["orders"]


async def test_a_client_certificate_is_a_principal(tmp_path: Path) -> None:
    settings = {
        "listener": "127.0.0.1:0",
        "listener.tls.certificate.file": str(TLS_KEYS / "server.pem"),
        "listener.tls.client.ca.file": str(TLS_KEYS / "ca.pem"),
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=([a-z]*).*$/$1/U,DEFAULT",
        "authorizer.class.name": AUTHORIZER["authorizer.class.name"],
        "super.users": "User:ANN",
    }
    config = {
        "security_protocol": "SSL",
        "ssl_cafile": str(TLS_KEYS / "ca.pem"),
        "ssl_certfile": str(TLS_KEYS / "ann.pem"),
        "ssl_keyfile": str(TLS_KEYS / "ann.pem"),
        "ssl_check_hostname": False,
    }
    async with EmbeddedCluster(2, settings=settings) as cluster:
        await cluster.create_topic("orders", [[1, 2]])
        assert await use(cluster, config, topics) == ["orders"]


async def test_moves_complete_where_clients_must_log_in(users: dict[str, str]) -> None:
    quick = {"embedded.partition.bytes": "1000", "embedded.tick.ms": "1"}
    async with EmbeddedCluster(3, settings=users | AUTHORIZER | quick) as cluster:
        await cluster.create_topic("orders", [[1, 2]])
        await use(
            cluster,
            login("admin"),
            lambda admin: admin.alter_partition_reassignments({TopicPartition("orders", 0): [2, 3]}),
        )
        while cluster.state.orders.reassignments:
            await asyncio.sleep(0.01)
        assert cluster.state.cluster.partitions["orders"][0].replicas == (2, 3)


async def test_acls_and_users_survive_a_restart(users: dict[str, str], tmp_path: Path) -> None:
    def grant(admin: KafkaAdminClient) -> None:
        orders = ResourcePattern(ResourceType.TOPIC, "orders")
        admin.create_acls([ACL("User:carl", "*", ACLOperation.READ, ACLPermissionType.ALLOW, orders)])
        admin.alter_user_scram_credentials(
            [UserScramCredentialUpsertion("carl", ScramMechanism.SCRAM_SHA_256, "carl-secret")]
        )

    for life in range(2):
        async with EmbeddedCluster(2, data_dir=tmp_path / "data", settings=users | AUTHORIZER) as cluster:
            if life == 0:
                await cluster.create_topic("orders", [[1, 2]])
                await use(cluster, login("admin"), grant)
            assert await use(cluster, login("carl", "SCRAM-SHA-256"), topics) == ["orders"]
            assert await use(cluster, login("anna"), topics) == []
