"""The gateway before a cluster that authenticates and authorises: the upstream decides, for each client by its own name."""

import re
from collections.abc import Iterator

import pytest

from tests.clients.java_programs import JavaClient, Ran, Tools
from tools.kafka_cluster import KafkaCluster
from tools.processes import Reassignd

MOVEMENTS = "reassignment.max.concurrent.partition.movements"
MOVE = '{"version":1,"partitions":[{"topic":"guarded","partition":0,"replicas":[2]}]}'
DEFAULT = ("--entity-type", "brokers", "--entity-default")


class As:
    """Kafka's tools in the name of a principal, through the gateway."""

    def __init__(self, tools: Tools, gateway: Reassignd, kafka: KafkaCluster) -> None:
        self._tools, self._gateway, self._kafka = tools, gateway, kafka

    def __call__(self, principal: str, tool: str, *arguments: str, mechanism: str = "SCRAM-SHA-256") -> Ran:
        config = self._kafka.client_config("SASL_PLAINTEXT", principal, mechanism)
        place = ("--bootstrap-server", self._gateway.bootstrap, "--command-config", str(config))
        return self._tools.run(tool, *place, *arguments)


@pytest.fixture(scope="module")
def run(secured: KafkaCluster, secured_gateway: Reassignd) -> Iterator[As]:
    with Tools("4.3") as tools:
        made = As(tools, secured_gateway, secured)
        created = made("admin", "topics", "--create", "--topic", "guarded", "--replica-assignment", "1")
        assert created.exit_code == 0, created.stderr
        yield made


def said(ran: Ran) -> str:
    return ran.stdout + ran.stderr


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"])
def test_who_may_describe_may_list(run: As, mechanism: str) -> None:
    for principal in ("alter", "describe"):
        listed = run(principal, "reassign", "--list", mechanism=mechanism)
        assert "No partition reassignments found" in said(listed)


def test_who_may_nothing_may_not_list(run: As) -> None:
    assert "ClusterAuthorizationException: Cluster authorization failed." in said(
        run("nothing", "reassign", "--list")
    )


@pytest.fixture
def plan(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    path.write_text(MOVE)
    return str(path)


@pytest.mark.parametrize("principal", ["describe", "nothing"])
def test_who_may_not_alter_moves_nothing(run: As, plan: str, principal: str) -> None:
    refused = run(principal, "reassign", "--execute", "--reassignment-json-file", plan)
    assert re.search("Cluster ?[Aa]uthorization", said(refused))
    assert "No partition reassignments found" in said(run("admin", "reassign", "--list"))


def test_who_may_not_alter_configs_sets_no_limits(run: As) -> None:
    for principal in ("alter", "describe", "nothing"):
        altered = run(principal, "configs", *DEFAULT, "--alter", "--add-config", f"{MOVEMENTS}=3")
        assert "ClusterAuthorizationException: Cluster authorization failed." in said(altered)
    assert MOVEMENTS not in said(run("admin", "configs", *DEFAULT, "--describe"))


def test_who_may_sees_them(run: As) -> None:
    assert run("admin", "configs", *DEFAULT, "--alter", "--add-config", f"{MOVEMENTS}=3").exit_code == 0
    assert f"{MOVEMENTS}=3" in said(run("admin", "configs", *DEFAULT, "--describe"))
    own = ("--entity-type", "brokers", "--entity-name", "1000000")
    assert f"{MOVEMENTS}=3" in said(run("admin", "configs", *own, "--describe", "--all"))
    for resource in (own, DEFAULT):
        refused = run("nothing", "configs", *resource, "--describe", "--all")
        assert "ClusterAuthorizationException" in said(refused)
    run("admin", "configs", *DEFAULT, "--alter", "--delete-config", MOVEMENTS)


def test_relayed_requests_carry_the_clients_rights_alone(run: As) -> None:
    made = run("alter", "topics", "--create", "--topic", "mine", "--partitions", "1")
    assert "TopicAuthorizationException" in said(made)
    assert "guarded" not in said(run("alter", "topics", "--list"))
    assert "guarded" in said(run("admin", "topics", "--list"))


def test_a_wrong_password_is_refused_by_the_upstream(
    run: As, secured: KafkaCluster, secured_gateway: Reassignd
) -> None:
    config = secured.client_config("SASL_PLAINTEXT", "describe")
    wrong = config.with_name("wrong.properties")
    wrong.write_text(config.read_text().replace("describe-secret", "guessed"))
    place = ("--bootstrap-server", secured_gateway.bootstrap, "--command-config", str(wrong))
    refused = run._tools.run("reassign", *place, "--list")
    assert "SaslAuthenticationException" in said(refused)


def test_a_client_may_authenticate_again_on_its_connection(
    run: As, secured: KafkaCluster, secured_gateway: Reassignd
) -> None:
    config = secured.client_config("SASL_PLAINTEXT", "admin", "SCRAM-SHA-512")
    with JavaClient(secured_gateway.bootstrap, config) as client:
        done = client.do("keep_sending", topic="guarded", seconds=8)
    assert done["sent"] > 10
    assert done["again"] >= 2
