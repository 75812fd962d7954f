"""Proposals for a real Kafka: read from its brokers, and executed through the gateway."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from planner.model.snapshot import Snapshot, parse_snapshot
from reassignd.commands.cluster_source import read_kafka
from reassignd.commands.drained import UNREGISTER
from reassignd.config.errors import CommandError
from tests.reassignd.shell import Shell, create_topic
from tests.reassignd.whole_server.operator_day import DRAINED, OperatorDay
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import SOON_FENCED, Spec
from tools.processes import Reassignd


@pytest.fixture(scope="module")
def four_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A cluster of its own: nothing else may be on the broker that is drained and stopped."""
    spec = Spec(4, "4.1", settings=SOON_FENCED)
    with running_kafka(spec, folder=tmp_path_factory.mktemp("four")) as cluster:
        yield cluster


@pytest.fixture
def shell(four_brokers: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    server = Reassignd(tmp_path / "gateway", {}, 4, four_brokers.bootstrap)
    server.start()
    yield Shell(server, tmp_path, capsys)
    assert server.stop() == 0


def test_a_broker_is_added_factors_are_raised_and_a_broker_is_drained(
    shell: Shell, four_brokers: KafkaCluster
) -> None:
    @contextmanager
    def stopped() -> Iterator[None]:
        with four_brokers.without(4):
            shell.until(lambda: shell.json("status")["brokers"]["idle"] == [4])
            assert shell.json("status")["health"]["problems"] == []
            assert shell.json("status")["partitions"]["under_replicated"] == 0
            kafka = read_kafka(four_brokers.bootstrap)
            assert [row for row in kafka.partitions.values() if set(row.isr) != set(row.replicas)] == []
            yield

    day = OperatorDay(shell, DRAINED + UNREGISTER.format(4))
    day.create_topics()
    day.add_a_broker()
    day.raise_replication_factors()
    assert_brokers_agree(shell, four_brokers)
    day.drain_a_broker(stopped)


def test_topics_that_were_just_created_are_known(shell: Shell) -> None:
    create_topic(shell.server.bootstrap, [[4, 1], [1, 2]], "foo")
    held = shell.run("drained", "4")
    assert (held.code, "foo-0" in held.out) == (1, True)
    create_topic(shell.server.bootstrap, [[1, 2]], "bar")
    shell.ok("execute", "--reassignment-json-file", shell.plan([0], 1, "bar"), "--wait")


def assert_brokers_agree(shell: Shell, kafka: KafkaCluster) -> None:
    """The gateway returns the brokers' answers."""
    arguments = ("drain", "4", "--format", "json")
    of_gateway, of_brokers = (
        shell.json("propose", *arguments)["plan"],
        shell.json("propose", *arguments, "--bootstrap-server", kafka.bootstrap)["plan"],
    )
    assert of_brokers == of_gateway
    snapshot = parse_snapshot("gateway", shell.ok("snapshot").encode().splitlines())
    assert racks_and_lists(read_kafka(kafka.bootstrap)) == racks_and_lists(snapshot)


def racks_and_lists(snapshot: Snapshot) -> tuple[object, ...]:
    racks = {broker.id: broker.rack for broker in snapshot.brokers.values()}
    lists = {key: row.replicas for key, row in snapshot.partitions.items()}
    return snapshot.cluster_id, racks, lists


def test_a_secured_cluster_is_read_with_client_properties(secured: KafkaCluster) -> None:
    config = secured.client_config("SASL_SSL", "admin")
    snapshot = read_kafka(secured.address(1, "SASL_SSL"), config)
    assert sorted(snapshot.brokers) == [1, 2]
    assert all(broker.disk_bytes for broker in snapshot.brokers.values())


def test_a_principal_without_permissions_is_refused(secured: KafkaCluster) -> None:
    with pytest.raises(CommandError, match="refuses to list reassignments: CLUSTER_AUTHORIZATION_FAILED"):
        read_kafka(secured.address(1, "SASL_SSL"), secured.client_config("SASL_SSL", "nothing"))
