"""`reassignment.schedule` is set, shown, checked and removed by Kafka's tool and the Java Admin client."""

from collections.abc import Iterator

import pytest

from tests.clients.cluster import Cluster, wait_for
from tests.clients.java_programs import AdminError
from tests.clients.tool import Tool

SCHEDULE = "reassignment.schedule"
DEFAULT = ("--entity-type", "brokers", "--entity-default")
TEXT = "Mon-Fri 22:00-06:00 throttle=50MB; Sat,Sun 00:00-24:00; tz=Europe/Berlin"
NOT_A_DAY = "'Fry 22:00-06:00': 'Fry' is not a day: expected Mon, Tue, Wed, Thu, Fri, Sat, Sun"


@pytest.fixture(autouse=True)
def no_schedule(cluster: Cluster) -> Iterator[None]:
    if cluster.kind == "kafka":
        pytest.skip("Kafka has no schedule")
    yield
    alter(cluster, "DELETE", None)


def alter(cluster: Cluster, op: str, text: str | None) -> None:
    cluster.admin.do("set_configs", type="BROKER", name="", ops=[[op, SCHEDULE, text]])


def test_kafka_configs_sets_shows_and_removes_the_schedule(cluster: Cluster, tool: Tool) -> None:
    added = tool("configs", *DEFAULT, "--alter", "--add-config", f"{SCHEDULE}=[{TEXT}]")
    assert (added.exit_code, added.stderr) == (0, "")
    wait_for(lambda: cluster.config("BROKER", "", SCHEDULE), TEXT)
    assert f"{SCHEDULE}={TEXT}" in tool("configs", *DEFAULT, "--describe").stdout
    assert tool("configs", *DEFAULT, "--alter", "--delete-config", SCHEDULE).exit_code == 0
    wait_for(lambda: cluster.config("BROKER", "", SCHEDULE), None)


def test_kafka_configs_prints_what_is_wrong_with_a_schedule(cluster: Cluster, tool: Tool) -> None:
    refused = tool("configs", *DEFAULT, "--alter", "--add-config", f"{SCHEDULE}=[Fry 22:00-06:00]")
    assert refused.exit_code == 1
    assert NOT_A_DAY in refused.stdout + refused.stderr


def test_the_java_admin_sets_and_removes_the_schedule(cluster: Cluster) -> None:
    alter(cluster, "SET", TEXT)
    wait_for(lambda: cluster.config("BROKER", "", SCHEDULE), TEXT)
    with pytest.raises(AdminError, match="Fry"):
        alter(cluster, "SET", "Fry 22:00-06:00")
    assert cluster.config("BROKER", "", SCHEDULE) == TEXT
    alter(cluster, "DELETE", None)
    wait_for(lambda: cluster.config("BROKER", "", SCHEDULE), None)
