"""Changes that others make directly in the upstream, and clients that disconnect early."""

import json
import socket
from pathlib import Path
from typing import Any

from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.clients.cluster import Cluster, wait_for
from tests.reassignd.shell import Shell
from tools.processes import Reassignd
from tools.raw_connection import address, encode


def newest_job(shell: Shell) -> Any:
    """Return the newest job with its partitions."""
    jobs = shell.json("jobs")["jobs"]
    return shell.json("job", str(max(job["id"] for job in jobs)))


def partition_state(shell: Shell) -> tuple[str, str]:
    """Return state and reason of the only partition of the newest job."""
    (row,) = newest_job(shell)["partitions"]
    return row["state"], row["reason"]


def externally_cancelled_topic(cluster: Cluster, direct: Cluster, shell: Shell) -> str:
    """Start a reassignment of a new topic, cancel it directly in the upstream, and return the topic."""
    topic = cluster.create_topic([[1, 2]])
    cluster.hold(topic)
    cluster.move({f"{topic}-0": [3, 4]})
    wait_for(lambda: set(direct.reassignments()), {f"{topic}-0"})
    direct.admin.do("alter", moves={f"{topic}-0": None})
    wait_for(lambda: partition_state(shell), ("waiting", "cancelled by another client"))
    cluster.release()
    direct.wait_for_replicas(topic, [[1, 2]])
    return topic


def test_an_externally_cancelled_partition_waits_until_its_job_is_resumed(
    cluster: Cluster, direct: Cluster, shell: Shell
) -> None:
    topic = externally_cancelled_topic(cluster, direct, shell)
    shell.ok("resume", str(newest_job(shell)["job"]["id"]))
    direct.wait_for_replicas(topic, [[3, 4]])
    wait_for(lambda: partition_state(shell), ("done", ""))


def test_a_new_order_is_executed_after_an_external_cancel(
    cluster: Cluster, direct: Cluster, shell: Shell
) -> None:
    topic = externally_cancelled_topic(cluster, direct, shell)
    cluster.move({f"{topic}-0": [2, 4]})
    direct.wait_for_replicas(topic, [[2, 4]])
    cluster.wait_until_idle()


def test_external_reassignments_are_listed_and_count_for_the_limits(
    cluster: Cluster, direct: Cluster, shell: Shell
) -> None:
    external, own = cluster.create_topic([[1, 2]]), cluster.create_topic([[2, 3]], filled=False)
    shell.ok("limits", "P=1")
    cluster.hold(external)
    direct.move({f"{external}-0": [3, 4]})
    wait_for(lambda: shell.moves()["others"], 1)
    assert set(cluster.reassignments()) == {f"{external}-0"}
    cluster.move({f"{own}-0": [4, 1]})
    assert newest_job(shell)["partitions"][0]["state"] == "queued"
    assert newest_job(shell)["reasons"][0]["reason"].startswith("limit P")
    cluster.release()
    direct.wait_for_replicas(external, [[3, 4]])
    direct.wait_for_replicas(own, [[4, 1]])
    cluster.wait_until_idle()


def test_deleting_a_topic_ends_its_reassignments(cluster: Cluster, direct: Cluster, shell: Shell) -> None:
    topic = cluster.create_topic([[1, 2], [2, 3]])
    cluster.hold(topic)
    shell.ok("limits", "P=1")
    cluster.move({f"{topic}-0": [3, 4], f"{topic}-1": [4, 1]})
    wait_for(lambda: set(direct.reassignments()), {f"{topic}-0"})
    direct.admin.do("delete", topics=[topic])
    wait_for(lambda: [row["state"] for row in newest_job(shell)["partitions"]], ["topic deleted"] * 2)
    assert newest_job(shell)["job"]["state"] == "ended"
    assert cluster.reassignments() == {}


def test_a_request_is_executed_if_its_client_disconnects(
    cluster: Cluster, direct: Cluster, gateway: Reassignd
) -> None:
    topic = cluster.create_topic([[1, 2]])
    cluster.hold(topic)
    rows = [ReassignableTopic(topic, [ReassignablePartition(0, (3, 4))])]
    with socket.create_connection(address(gateway.bootstrap)) as connection:
        connection.sendall(encode(AlterPartitionReassignmentsRequest(topics=rows), 0))
        wait_for(lambda: set(direct.reassignments()), {f"{topic}-0"})
    assert set(cluster.reassignments()) == {f"{topic}-0"}
    cluster.release()
    direct.wait_for_replicas(topic, [[3, 4]])
    cluster.wait_until_idle()


def test_a_cancel_of_everything_includes_external_reassignments(
    cluster: Cluster, direct: Cluster, shell: Shell
) -> None:
    external = cluster.create_topic([[1, 2]])
    cluster.hold(external)
    direct.move({f"{external}-0": [3, 4]})
    wait_for(lambda: shell.moves()["others"], 1)
    assert shell.ok("cancel", "--all").startswith(f"1 partition cancelled.\n{external}-0 goes to [1,2]\n")
    wait_for(direct.reassignments, {})
    cluster.release()
    direct.wait_for_replicas(external, [[1, 2]])


def test_a_queued_plan_waits_for_the_end_of_an_external_reassignment(
    cluster: Cluster, direct: Cluster, shell: Shell, tmp_path: Path
) -> None:
    external = cluster.create_topic([[1, 2]])
    cluster.hold(external)
    direct.move({f"{external}-0": [3, 4]})
    wait_for(lambda: shell.moves()["others"], 1)
    plan = tmp_path / "plan.json"
    plan.write_text(
        json.dumps({"version": 1, "partitions": [{"topic": external, "partition": 0, "replicas": [4, 1]}]})
    )
    shell.ok("execute", "--queue", "--reassignment-json-file", str(plan))
    assert partition_state(shell) == (
        "queued",
        "another client moves it: the target starts when that move ends",
    )
    assert set(direct.reassignments()) == {f"{external}-0"}
    cluster.release()
    direct.wait_for_replicas(external, [[3, 4]])
    direct.wait_for_replicas(external, [[4, 1]])
    wait_for(lambda: partition_state(shell), ("done", ""))
