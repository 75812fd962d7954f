"""A cluster with SASL and an authorizer: the brokers decide about the rights of each user.

The brokers have only CLUSTER_ACTION, and no DESCRIBE on the cluster.
"""

import asyncio
import hashlib
import hmac
import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType
from kazoo.client import KazooClient

from backends.client.channel import connector
from backends.client.errors import AuthenticationError
from backends.client.handshake import ClientSettings, open_connection
from backends.client.security import Credentials, Security
from common.address import Address
from protocol.codec.schema import Request, Response
from protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_partition_request import AlterPartitionRequest
from protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics_request import DeleteTopicsRequest
from protocol.messages.elect_leaders_request import ElectLeadersRequest
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tests.clients.java_programs import Tools
from tests.zookeeper.load import Load
from tests.zookeeper.site import Site, wait_for
from tools.kafka_settings import client_properties
from tools.zookeeper_cluster import ZookeeperCluster

LISTENER = "SASL_PLAINTEXT"
PACKAGE = "org.apache.kafka.common.security"
USERS = ("admin", "broker", "alter", "describe", "nothing")
SCRAM_USER = "scram"
MECHANISM = "SCRAM-SHA-256"

GRANTS = (
    ("broker", ResourceType.CLUSTER, "kafka-cluster", ACLOperation.CLUSTER_ACTION),
    ("alter", ResourceType.CLUSTER, "kafka-cluster", ACLOperation.ALTER),
    ("describe", ResourceType.CLUSTER, "kafka-cluster", ACLOperation.DESCRIBE),
    (SCRAM_USER, ResourceType.CLUSTER, "kafka-cluster", ACLOperation.DESCRIBE),
)


class SaslCluster(ZookeeperCluster):
    """A cluster where clients and brokers log in; `admin` is the super user."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 3, protocol="3.9")

    def start_zookeeper(self) -> None:
        super().start_zookeeper()
        server, _, chroot = self.zookeeper.partition("/")
        client = KazooClient(server)
        client.start()
        user = {"version": 1, "config": {MECHANISM: scram_credential(f"{SCRAM_USER}-secret")}}
        client.create(f"/{chroot}/config/users/{SCRAM_USER}", json.dumps(user).encode(), makepath=True)
        client.stop()
        client.close()

    def properties(self, broker: int) -> dict[str, str]:
        users = " ".join(f'user_{name}="{name}-secret"' for name in USERS)
        return {
            **super().properties(broker),
            "listeners": f"{LISTENER}://127.0.0.1:{self.port(broker)}",
            "security.inter.broker.protocol": LISTENER,
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.sasl_plaintext.sasl.enabled.mechanisms": f"PLAIN,{MECHANISM}",
            "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": (
                f"{PACKAGE}.scram.ScramLoginModule required;"
            ),
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
                f'{PACKAGE}.plain.PlainLoginModule required username="broker"'
                f' password="broker-secret" {users};'
            ),
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "super.users": "User:admin",
        }


def scram_credential(password: str) -> str:
    """Return a SCRAM credential as Kafka stores it in `/config/users` (RFC 5802)."""
    salt, rounds = b"salt of 16 bytes", 4096
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, rounds)
    client, server = (hmac.digest(salted, name, "sha256") for name in (b"Client Key", b"Server Key"))
    parts = {"salt": salt, "stored_key": hashlib.sha256(client).digest(), "server_key": server}
    return ",".join(
        [f"{name}={b64encode(value).decode()}" for name, value in parts.items()] + [f"iterations={rounds}"]
    )


def login(user: str) -> dict[str, str]:
    """Return the login settings of kafka-python."""
    return {
        "security_protocol": LISTENER,
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": user,
        "sasl_plain_password": f"{user}-secret",
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("logging-in")
    cluster = SaslCluster(folder)
    config = folder / "command.properties"
    config.write_text(client_properties(LISTENER, "admin", "PLAIN", folder))
    overrides = {
        "zookeeper.command.config": str(config),
        "zookeeper.listener.name": LISTENER,
        "zookeeper.listener.security.protocol": LISTENER,
    }
    with ExitStack() as stack:
        stack.enter_context(cluster)
        site = Site(cluster, **overrides)
        site.commander.start()
        stack.callback(site.commander.stop)
        wait_for(lambda: (site.znode("/controller") or {}).get("brokerid"), 1000)
        # Only reassignd's listener; it relays other requests to brokers.
        site.admin = KafkaAdminClient(bootstrap_servers=site.commander.address, **login("admin"))
        stack.callback(site.admin.close)
        rows = [
            ACL(f"User:{user}", "*", operation, ACLPermissionType.ALLOW, ResourcePattern(kind, name))
            for user, kind, name, operation in GRANTS
        ]
        assert site.admin.create_acls(rows)["failed"] == []
        yield site


def client_settings(user: str, password: str = "") -> ClientSettings:
    mechanism = MECHANISM if user == SCRAM_USER else "PLAIN"
    return ClientSettings(security=Security(sasl=Credentials(mechanism, user, password or f"{user}-secret")))


def request(site: Site, user: str, message: Request[Response], version: int) -> Response:
    """Send a request to the listener of reassignd as this user, and return the response."""

    async def ask() -> Response:
        host, _, port = site.commander.address.partition(":")
        channel = await connector(client_settings(user))(host, int(port))
        answer = await channel.request(message, version)
        channel.close()
        return answer

    return asyncio.run(asyncio.wait_for(ask(), 30))


def reassignment(topic: str, *replicas: int) -> AlterPartitionReassignmentsRequest:
    return AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(topic, [ReassignablePartition(0, replicas)])]
    )


def test_a_user_moves_data_and_brokers_reach_their_controller(site: Site) -> None:
    """With this protocol a replica joins the ISR, and a producer gets an id, by the controller only."""
    topic = site.create_topic([[1, 2]])
    with Load(site.cluster.bootstrap, topic, 1, **login("admin")) as load:
        assert request(site, "alter", reassignment(topic, 3, 2), 0).error_code == 0
        site.wait_for_replicas(topic, [[3, 2]])
        site.wait_until_idle()
    load.check()
    site.wait_for_hosts(topic, 0, {2, 3})
    assert "User:alter" in site.commander.log


def test_a_broker_performs_a_controlled_shutdown(site: Site) -> None:
    site.cluster.stop_broker(1)
    site.cluster.start_broker(1)
    site.cluster.wait_for_broker(1)
    assert "Controlled shutdown request returned successfully" in site.cluster.log(1)


@pytest.mark.parametrize(
    ("user", "may_list", "may_alter"),
    [("alter", 0, 0), ("describe", 0, 31), (SCRAM_USER, 0, 31), ("nothing", 31, 31), ("broker", 31, 31)],
)
def test_brokers_authorize_listing_and_altering_reassignments(
    site: Site, user: str, may_list: int, may_alter: int
) -> None:
    listed = request(site, user, ListPartitionReassignmentsRequest(topics=None), 0)
    altered = request(site, user, AlterPartitionReassignmentsRequest(), 0)
    assert (listed.error_code, altered.error_code) == (may_list, may_alter)


@pytest.mark.parametrize("user", ["alter", "nothing"])
def test_a_user_without_topic_rights_cannot_create_or_delete_topics(site: Site, user: str) -> None:
    topic = site.create_topic([[1, 2]])
    created = request(site, user, CreateTopicsRequest([CreatableTopic("another", 1, 1)]), 5)
    grown = request(site, user, CreatePartitionsRequest([CreatePartitionsTopic(topic, 2, None)]), 1)
    deleted = request(site, user, DeleteTopicsRequest(topic_names=[topic]), 3)
    assert [created.topics[0].error_code, grown.results[0].error_code, deleted.responses[0].error_code] == [
        29
    ] * 3
    assert len(site.partitions(topic)) == 1


@pytest.mark.parametrize(("user", "code"), [("admin", 0), ("alter", 31), ("describe", 31), ("nothing", 31)])
def test_only_users_that_may_alter_configs_set_limits(site: Site, user: str, code: int) -> None:
    limit = AlterableConfig("reassignment.max.concurrent.partition.movements", 0, "7")
    kafka_config = AlterableConfig("log.cleaner.threads", 0, "1")
    throttle = AlterableConfig("leader.replication.throttled.rate", 1, None)
    for name, keys in (("", [limit]), ("1000", [throttle]), ("", [limit, kafka_config])):
        change = IncrementalAlterConfigsRequest([AlterConfigsResource(4, name, keys)])
        assert request(site, user, change, 1).responses[0].error_code == code


@pytest.mark.parametrize(("user", "code"), [("alter", 31), ("nothing", 31)])
def test_broker_requests_are_refused_to_users(site: Site, user: str, code: int) -> None:
    assert request(site, user, AlterPartitionRequest(1, -1), 1).error_code == code
    assert request(site, user, AllocateProducerIdsRequest(1, -1), 0).error_code == code
    assert request(site, user, ControlledShutdownRequest(1), 2).error_code == code
    if user == "nothing":
        assert request(site, user, ElectLeadersRequest(), 1).error_code == code


def test_scram_credentials_are_created_and_deleted_with_kafka_configs(site: Site, tools: Tools) -> None:
    """Brokers forward these requests to the controller."""
    admin = site.folder / "admin.properties"
    admin.write_text(client_properties(LISTENER, "admin", "PLAIN", site.folder))
    user = ("--entity-type", "users", "--entity-name", "newcomer")
    where = ("--bootstrap-server", site.commander.address, "--command-config", str(admin), "--alter", *user)
    created = tools.run("configs", *where, "--add-config", f"{MECHANISM}=[password=newcomer-secret]")
    assert "Completed updating config for user newcomer" in created.stdout
    wait_for(lambda: can_log_in(site, "newcomer"), True)
    tools.run("configs", *where, "--delete-config", MECHANISM)
    wait_for(lambda: can_log_in(site, "newcomer"), False)
    deletion = AlterUserScramCredentialsRequest([ScramCredentialDeletion("newcomer", 1)])
    codes = [request(site, name, deletion, 0).results[0].error_code for name in ("admin", "describe")]
    assert codes == [91, 31]


def can_log_in(site: Site, user: str) -> bool:
    """Return whether the user can log in by SCRAM at the listener of reassignd."""
    host, _, port = site.commander.address.partition(":")
    credentials = ClientSettings(security=Security(sasl=Credentials(MECHANISM, user, f"{user}-secret")))

    async def log_in() -> bool:
        try:
            (await open_connection(Address(host, int(port)), credentials, 10)).abort("done")
        except AuthenticationError:
            return False
        return True

    return asyncio.run(log_in())


@pytest.mark.parametrize("user", ["alter", SCRAM_USER])
async def test_a_wrong_password_is_refused(site: Site, user: str) -> None:
    host, _, port = site.commander.address.partition(":")
    with pytest.raises(AuthenticationError):
        await open_connection(Address(host, int(port)), client_settings(user, "guess"), 10)
