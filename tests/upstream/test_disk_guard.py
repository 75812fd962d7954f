"""The limit of disk usage with real disks."""

from tests.clients.cluster import Cluster, wait_for
from tests.reassignd.shell import Shell

MARK = "reassignment.max.disk.usage"


def set_mark(cluster: Cluster, value: str | None) -> None:
    op = "DELETE" if value is None else "SET"
    cluster.admin.do("set_configs", type="BROKER", name="", ops=[[op, MARK, value]])


def test_a_step_waits_for_space_on_the_disk_of_its_target_and_shows_the_reason(
    cluster: Cluster, shell: Shell
) -> None:
    set_mark(cluster, "0.000001")
    try:
        topic = cluster.create_topic([[1, 2]])
        cluster.move({f"{topic}-0": [2, 3]})
        wait_for(lambda: "full, 0% is the most" in shell.ok("status"), True)
        assert "broker 3: " in shell.ok("status")
        assert cluster.replicas(topic) == [[1, 2]]
    finally:
        set_mark(cluster, None)
    cluster.wait_until_idle()
    cluster.wait_for_replicas(topic, [[2, 3]])
