"""Scenarios that run on several releases of brokers."""

import os
import signal
from collections.abc import Mapping, Sequence

from tests.zookeeper.load import Load
from tests.zookeeper.site import Site, wait_for

REASSIGN = "/admin/reassign_partitions"
CANCEL = "/admin/cancel_reassignment_in_progress"


def submit(site: Site, topic: str, targets: Mapping[int, Sequence[int]]) -> None:
    """Write a plan to `/admin/reassign_partitions`, as the tools before Kafka 3 did."""
    rows = [
        {"topic": topic, "partition": number, "replicas": list(replicas)}
        for number, replicas in targets.items()
    ]
    site.create_znode(REASSIGN, {"version": 1, "partitions": rows})


def cancel_throttled_move(site: Site) -> None:
    """Cancel a throttled reassignment under load.

    The replica order is restored and partial copies are deleted.
    """
    topic = site.create_topic([[1, 2, 3]])
    site.fill(topic, 1)
    site.hold(topic)
    with Load(site.cluster.bootstrap, topic, 1) as load:
        site.reassign(topic, {0: [3, 4, 2]})
        site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
        site.reassign(topic, {0: None})
        site.wait_until_idle()
        site.release()
    load.check()
    site.wait_for_replicas(topic, [[1, 2, 3]])
    site.wait_for_hosts(topic, 0, {1, 2, 3})


def reassign_by_znode(site: Site) -> None:
    """Execute a plan from ZooKeeper under load; the znode is deleted at the end."""
    topic = site.create_topic([[1, 2], [2, 1]])
    with Load(site.cluster.bootstrap, topic, 2) as load:
        submit(site, topic, {0: [3, 4], 1: [4, 1]})
        wait_for(lambda: site.znode(REASSIGN), None)
    load.check()
    site.wait_for_replicas(topic, [[3, 4], [4, 1]])
    site.wait_for_hosts(topic, 0, {3, 4})
    site.wait_for_hosts(topic, 1, {1, 4})


def cancel_by_znode(site: Site) -> None:
    """Cancel a throttled plan with the cancel znode under load; both znodes are deleted."""
    topic = site.create_topic([[1, 2, 3]])
    site.fill(topic, 1)
    site.hold(topic)
    with Load(site.cluster.bootstrap, topic, 1) as load:
        submit(site, topic, {0: [3, 4, 2]})
        site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
        site.create_znode(CANCEL, b"")
        site.wait_for_replicas(topic, [[1, 2, 3]])
        site.release()
    load.check()
    site.wait_for_hosts(topic, 0, {1, 2, 3})
    wait_for(lambda: site.has_znode(REASSIGN) or site.has_znode(CANCEL), False)


def drop_replica_of_stopped_broker(site: Site) -> None:
    """Remove a replica while its broker is down: the broker deletes the log after its restart."""
    topic = site.create_topic([[2, 4]])
    site.fill(topic, 1)
    site.cluster.kill_broker(4)
    wait_for(lambda: _replicas(site, topic, "isr_nodes"), [2])
    site.reassign(topic, {0: [2, 3]})
    site.wait_until_idle()
    assert site.cluster.hosts(topic, 0) == {2, 3, 4}
    site.cluster.start_broker(4)
    site.cluster.wait_for_broker(4)
    site.wait_for_hosts(topic, 0, {2, 3})


def kill_before_stop_replica_response(site: Site) -> None:
    """Kill the controller after a step, before the broker of the removed replica has answered StopReplica."""
    topic = site.create_topic([[2, 4]])
    site.fill(topic, 1)
    pid = site.cluster.pid(4)
    os.kill(pid, signal.SIGSTOP)
    try:
        site.reassign(topic, {0: [2, 3]})
        wait_for(lambda: site.znode(f"/brokers/topics/{topic}")["partitions"]["0"], [2, 3])
        site.commander.kill()
    finally:
        os.kill(pid, signal.SIGCONT)
    assert 4 in site.cluster.hosts(topic, 0)
    site.commander.start()
    site.wait_for_controller(site.commander.node_id)
    site.wait_for_hosts(topic, 0, {2, 3})


def restart_brokers_in_sequence(site: Site) -> None:
    """Restart the brokers one by one, as soon as the previous one is back in all ISRs.

    Every shutdown is controlled.
    """
    topic = site.create_topic([[1, 2], [2, 3], [3, 4], [4, 1]])
    log_lengths = {broker: len(site.cluster.log(broker)) for broker in site.cluster.brokers}
    for broker in site.cluster.brokers:
        site.cluster.stop_broker(broker)
        site.cluster.start_broker(broker)
        site.cluster.wait_for_broker(broker)
        wait_for(lambda: _stored_isrs(site, topic), [[1, 2], [2, 3], [3, 4], [1, 4]])
    for broker, length in log_lengths.items():
        assert "unclean shutdown" not in site.cluster.log(broker)[length:]


def _stored_isrs(site: Site, topic: str) -> list[list[int]]:
    """Return the ISRs from ZooKeeper; the brokers can learn of them up to a minute later."""
    states = [site.znode(f"/brokers/topics/{topic}/partitions/{number}/state") for number in range(4)]
    return [sorted(state["isr"]) for state in states]


def _replicas(site: Site, topic: str, field: str) -> list[int]:
    broker_ids: list[int] = site.partitions(topic)[0][field]
    return broker_ids
