"""kafka-acls and kafka-configs, unchanged, against the secured embedded cluster."""

from collections.abc import Iterator, Mapping

import pytest

from tests.clients.java_programs import TOOL_VERSIONS, JavaProgram, ToolResult, Tools
from tests.clients.secured.logins import Attempt, confluent
from tests.clients.secured.servers import SASL, TOPIC, SecuredServer

Servers = Mapping[str, SecuredServer]


class SecuredTool:
    """Runs Kafka's tools as `admin`, or as another user."""

    def __init__(self, tools: Tools, server: SecuredServer) -> None:
        self.tools, self.server = tools, server

    def __call__(self, name: str, *arguments: str, user: str = "admin") -> ToolResult:
        config = self.server.properties(user)
        return self.tools.run(
            name, "--bootstrap-server", self.server.bootstrap, "--command-config", str(config), *arguments
        )


@pytest.fixture(scope="module", params=TOOL_VERSIONS)
def tool(request: pytest.FixtureRequest, servers: Servers) -> Iterator[SecuredTool]:
    with Tools(request.param) as resident:
        yield SecuredTool(resident, servers[SASL])


def visible(server: SecuredServer, user: str, secret: str = "", mechanism: str = "PLAIN") -> str:
    """Return what the user sees."""
    return confluent(Attempt(server, mechanism, user, secret or f"{user}-secret"))


ALICE = ("--allow-principal", "User:alice", "--operation", "Describe")
ORDERS = ("--topic", "ord", "--resource-pattern-type", "prefixed")


def test_acls_are_added_listed_and_removed(tool: SecuredTool, java_login: JavaProgram) -> None:
    server = tool.server
    added = tool("acls", "--add", *ALICE, *ORDERS)
    assert "(principal=User:alice, host=*, operation=DESCRIBE, permissionType=ALLOW)" in added.stdout
    assert visible(server, "alice") == f"topics {TOPIC}"
    listed = tool("acls", "--list", "--topic", TOPIC, "--resource-pattern-type", "match")
    assert "patternType=PREFIXED" in listed.stdout
    assert "principal=User:alice" in listed.stdout
    request = {"bootstrap": server.bootstrap, "config": str(server.properties("admin")), "matching": TOPIC}
    assert java_login.ask(request) == {"acls": 1}
    tool("acls", "--add", "--deny-principal", "User:alice", "--operation", "All", "--topic", TOPIC)
    assert visible(server, "alice") == "topics "
    for operation in (
        (*ALICE, *ORDERS),
        ("--deny-principal", "User:alice", "--operation", "All", "--topic", TOPIC),
    ):
        assert tool("acls", "--remove", "--force", *operation).exit_code == 0
    assert tool("acls", "--list").lines == []


def test_others_may_not_manage_acls(tool: SecuredTool) -> None:
    refused = tool("acls", "--list", user="alice")
    assert refused.exit_code == 1
    assert "ClusterAuthorizationException" in refused.stdout + refused.stderr


def test_users_are_added_described_and_removed(tool: SecuredTool) -> None:
    server, carl = tool.server, ("--entity-type", "users", "--entity-name", "carl")
    mechanisms = {"SCRAM-SHA-256": "iterations=8192,", "SCRAM-SHA-512": ""}
    for mechanism, iterations in mechanisms.items():
        config = f"{mechanism}=[{iterations}password=carl-secret]"
        added = tool("configs", "--alter", "--add-config", config, *carl)
        assert "Completed updating config for user carl." in added.stdout
        assert visible(server, "carl", mechanism=mechanism) == "topics "
    described = tool("configs", "--describe", *carl)
    assert "SCRAM-SHA-256=iterations=8192" in described.stdout
    assert "SCRAM-SHA-512=iterations=4096" in described.stdout
    assert visible(server, "carl", "wrong", "SCRAM-SHA-256").startswith("refused ")
    for mechanism in mechanisms:
        tool("configs", "--alter", "--delete-config", mechanism, *carl)
    assert "SCRAM" not in tool("configs", "--describe", *carl).stdout
    assert visible(server, "carl", mechanism="SCRAM-SHA-256").startswith("refused ")


def test_both_mechanisms_of_a_user_at_once_are_refused_as_by_kafka(tool: SecuredTool) -> None:
    both = "SCRAM-SHA-256=[password=carl-secret],SCRAM-SHA-512=[password=carl-secret]"
    refused = tool(
        "configs", "--alter", "--add-config", both, "--entity-type", "users", "--entity-name", "carl"
    )
    assert "A user credential cannot be altered twice in the same request" in refused.stdout + refused.stderr


def test_a_reassignment_needs_alter_on_the_cluster(tool: SecuredTool) -> None:
    refused = tool("reassign", "--list", user="alice")
    assert refused.exit_code == 1
    assert "Cluster authorization failed" in refused.stdout + refused.stderr
    assert tool("reassign", "--list").lines == ["No partition reassignments found."]
