"""The gateway in front of a secured cluster: the upstream authenticates and authorizes each client."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from backends.client.handshake import ClientSettings
from backends.upstream.client import UpstreamClient
from common.address import Address
from protocol.codec.schema import Request
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from reassignd.config.command_config import load
from tests.clients.java_programs import JavaClient, ToolResult, Tools
from tests.reassignd.shell import Shell
from tests.upstream.conftest import bootstrap
from tools.kafka_cluster import KafkaCluster
from tools.processes import Reassignd

MOVEMENTS = "reassignment.max.concurrent.partition.movements"
DEFAULT = ("--entity-type", "brokers", "--entity-default")


class PrincipalTools:
    """Runs Kafka's tools through the gateway with the credentials of a principal."""

    def __init__(self, tools: Tools, gateway: Reassignd, kafka: KafkaCluster) -> None:
        self._tools, self._gateway, self._kafka = tools, gateway, kafka

    def __call__(
        self, principal: str, tool: str, *arguments: str, mechanism: str = "SCRAM-SHA-256"
    ) -> ToolResult:
        config = self._kafka.client_config("SASL_PLAINTEXT", principal, mechanism)
        options = ("--bootstrap-server", self._gateway.bootstrap, "--command-config", str(config))
        return self._tools.run(tool, *options, *arguments)


@pytest.fixture(scope="module")
def run(secured: KafkaCluster, secured_gateway: Reassignd) -> Iterator[PrincipalTools]:
    with Tools("4.3") as tools:
        run = PrincipalTools(tools, secured_gateway, secured)
        created = run("admin", "topics", "--create", "--topic", "guarded", "--replica-assignment", "1")
        assert created.exit_code == 0, created.stderr
        yield run


def output(ran: ToolResult) -> str:
    return ran.stdout + ran.stderr


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN", "OAUTHBEARER"])
def test_principals_with_describe_can_list_reassignments(run: PrincipalTools, mechanism: str) -> None:
    for principal in ("alter", "describe"):
        listed = run(principal, "reassign", "--list", mechanism=mechanism)
        assert "No partition reassignments found" in output(listed)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "OAUTHBEARER"])
def test_a_principal_without_rights_cannot_list_reassignments(run: PrincipalTools, mechanism: str) -> None:
    assert "ClusterAuthorizationException: Cluster authorization failed." in output(
        run("nothing", "reassign", "--list", mechanism=mechanism)
    )


PRINCIPALS = ("admin", "alter", "describe", "nothing")
UNKNOWN = [ReassignableTopic("unknown", [ReassignablePartition(0, (1,)), ReassignablePartition(1, None)])]
REQUESTS: dict[str, Request[NamedTuple]] = {
    "alter": AlterPartitionReassignmentsRequest(topics=UNKNOWN),
    "alter nothing": AlterPartitionReassignmentsRequest(topics=()),
    "list": ListPartitionReassignmentsRequest(),
    "create": CreateTopicsRequest([CreatableTopic("made", 1, 1)], validate_only=True),
    "log dirs": DescribeLogDirsRequest(None),
}


async def error_codes(principal: str, addresses: list[Address], kafka: KafkaCluster) -> dict[str, Any]:
    """Send each request as the principal and return the error codes."""
    security = load(kafka.client_config("SASL_PLAINTEXT", principal))
    client = UpstreamClient(addresses, ClientSettings(security=security))
    codes_by_request = {name: codes(await client.ask(request)) for name, request in REQUESTS.items()}
    await client.close()
    return codes_by_request


def codes(response: Any) -> Any:
    """Return all error codes of a response, nested as in the response."""
    if isinstance(response, list | tuple):
        return [response.error_code if hasattr(response, "error_code") else None, *map(codes, response)]
    return None


@pytest.mark.parametrize("principal", PRINCIPALS)
async def test_each_principal_gets_the_error_codes_of_kafka(
    run: PrincipalTools, secured: KafkaCluster, secured_gateway: Reassignd, principal: str
) -> None:
    host, _, port = secured_gateway.bootstrap.partition(":")
    # The second port, because the first one does not show log directories of brokers.
    relayed = await error_codes(principal, [Address(host, int(port) + 1)], secured)
    direct = await error_codes(principal, [bootstrap(secured, "SASL_PLAINTEXT")], secured)
    assert relayed == direct
    assert relayed["alter nothing"][0] == (0 if principal in ("admin", "alter") else 31)
    assert relayed["list"][0] == (31 if principal == "nothing" else 0)


def test_clients_and_upstream_can_both_use_tls(
    run: PrincipalTools, secured: KafkaCluster, tmp_path: Path
) -> None:
    settings = {
        "upstream.command.config": str(secured.client_config("SASL_SSL", "admin")),
        "listener.tls.certificate.file": str(secured.folder / "broker.pem"),
        "advertised.host": "localhost",
    }
    bootstrap = secured.address(1, "SASL_SSL")
    encrypted = Reassignd(tmp_path, settings, len(secured.brokers), bootstrap)
    encrypted.start()
    try:
        address = encrypted.bootstrap.replace("127.0.0.1", "localhost")
        config = secured.client_config("SASL_SSL", "describe")
        more = ("--command-config", str(config), "--list")
        listed = run._tools.run("reassign", "--bootstrap-server", address, *more)
        assert "No partition reassignments found" in output(listed)
    finally:
        encrypted.stop()


def test_limits_need_the_right_to_alter_configs(run: PrincipalTools) -> None:
    for principal in ("alter", "describe", "nothing"):
        altered = run(principal, "configs", *DEFAULT, "--alter", "--add-config", f"{MOVEMENTS}=3")
        assert "ClusterAuthorizationException: Cluster authorization failed." in output(altered)
    assert MOVEMENTS not in output(run("admin", "configs", *DEFAULT, "--describe"))


def test_limits_are_shown_to_principals_that_may_describe_configs(run: PrincipalTools) -> None:
    assert run("admin", "configs", *DEFAULT, "--alter", "--add-config", f"{MOVEMENTS}=3").exit_code == 0
    assert f"{MOVEMENTS}=3" in output(run("admin", "configs", *DEFAULT, "--describe"))
    refused = run("nothing", "configs", *DEFAULT, "--describe", "--all")
    assert "ClusterAuthorizationException" in output(refused)
    run("admin", "configs", *DEFAULT, "--alter", "--delete-config", MOVEMENTS)


def test_relayed_requests_have_only_the_rights_of_the_client(run: PrincipalTools) -> None:
    result = run("alter", "topics", "--create", "--topic", "mine", "--partitions", "1")
    assert "Authorization failed" in output(result)
    assert "guarded" not in output(run("alter", "topics", "--list"))
    assert "guarded" in output(run("admin", "topics", "--list"))


def test_the_upstream_refuses_a_wrong_password(
    run: PrincipalTools, secured: KafkaCluster, secured_gateway: Reassignd
) -> None:
    config = secured.client_config("SASL_PLAINTEXT", "describe")
    wrong = config.with_name("wrong.properties")
    wrong.write_text(config.read_text().replace("describe-secret", "guessed"))
    options = ("--bootstrap-server", secured_gateway.bootstrap, "--command-config", str(wrong))
    refused = run._tools.run("reassign", *options, "--list")
    assert "SaslAuthenticationException" in output(refused)


def test_a_client_can_reauthenticate_on_its_connection(
    run: PrincipalTools, secured: KafkaCluster, secured_gateway: Reassignd
) -> None:
    config = secured.client_config("SASL_PLAINTEXT", "admin", "SCRAM-SHA-512")
    with JavaClient(secured_gateway.bootstrap, config) as client:
        assert client.do("send_and_log_in", topic="guarded", again=2) > 0


def test_the_principal_of_a_job_is_the_subject_of_the_token(
    run: PrincipalTools, secured_gateway: Reassignd, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.json"
    row = {"topic": "guarded", "partition": 0, "replicas": [2]}
    plan.write_text(json.dumps({"version": 1, "partitions": [row]}))
    order = ("--reassignment-json-file", str(plan), "--execute")
    done = run("admin", "reassign", *order, mechanism="OAUTHBEARER")
    assert "Successfully started partition reassignment for guarded-0" in output(done)
    assert "admin" in Shell(secured_gateway, tmp_path, capsys).ok("jobs")
