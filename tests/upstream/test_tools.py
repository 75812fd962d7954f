"""Kafka's own tools, with the gateway as their only address."""

from collections.abc import Iterator

import pytest

from tests.clients.java_programs import Tools
from tools.processes import Reassignd

OWN_ID = "1000000"
MOVEMENTS = "reassignment.max.concurrent.partition.movements"


class Shell:
    """Tools of one version, and nothing to say but their arguments."""

    def __init__(self, tools: Tools, gateway: Reassignd) -> None:
        self._tools, self._gateway = tools, gateway

    def __call__(self, tool: str, *arguments: str) -> str:
        ran = self._tools.run(tool, "--bootstrap-server", self._gateway.bootstrap, *arguments)
        assert ran.exit_code == 0, (ran.stdout, ran.stderr)
        return ran.stdout


@pytest.fixture(scope="module", params=["4.3", "3.9"])
def shell(request: pytest.FixtureRequest, gateway: Reassignd) -> Iterator[Shell]:
    with Tools(request.param) as tools:
        yield Shell(tools, gateway)


@pytest.mark.parametrize(
    "resource", [("--entity-default",), ("--entity-name", OWN_ID)], ids=["default", "own"]
)
def test_limits_are_set_shown_and_deleted(shell: Shell, resource: tuple[str, ...]) -> None:
    brokers = ("--entity-type", "brokers", *resource)
    shell("configs", *brokers, "--alter", "--add-config", f"{MOVEMENTS}=7")
    shown = shell("configs", "--entity-type", "brokers", "--entity-default", "--describe")
    assert f"{MOVEMENTS}=7" in shown
    shell("configs", *brokers, "--alter", "--delete-config", MOVEMENTS)
    assert MOVEMENTS not in shell("configs", "--entity-type", "brokers", "--entity-default", "--describe")


def test_both_kinds_of_keys_in_one_go(shell: Shell) -> None:
    default = ("--entity-type", "brokers", "--entity-default")
    shell("configs", *default, "--alter", "--add-config", f"{MOVEMENTS}=8,log.cleaner.threads=2")
    shown = shell("configs", *default, "--describe")
    assert f"{MOVEMENTS}=8" in shown
    assert "log.cleaner.threads=2" in shown
    shell("configs", *default, "--alter", "--delete-config", f"{MOVEMENTS},log.cleaner.threads")


def test_all_keys_of_our_own_id_are_shown(shell: Shell) -> None:
    shown = shell("configs", "--entity-type", "brokers", "--entity-name", OWN_ID, "--describe", "--all")
    assert "reassignment.cancel.mode=rollback" in shown
    assert "log.retention" not in shown


def test_groups_and_transactions_are_listed_once(shell: Shell) -> None:
    groups = shell("consumer-groups", "--list").split()
    assert len(groups) == len(set(groups))
    rows = shell("transactions", "list").splitlines()
    assert len(rows) == len(set(rows))


def test_every_broker_has_log_dirs(shell: Shell) -> None:
    shown = shell("log-dirs", "--describe")
    for broker in ("1", "4", OWN_ID):
        assert f'"broker":{broker},' in shown


@pytest.mark.parametrize("shell", ["4.3"], indirect=True)
def test_every_broker_says_its_versions(shell: Shell) -> None:
    shown = shell("broker-api-versions")
    assert shown.count("AlterPartitionReassignments(45): 0 to 1") == 5
    assert shown.count("Fetch(1): 4 to 15") == 5
    assert "UNSUPPORTED" in shown or "ShareFetch" not in shown
