"""`reassignd serve --backend zookeeper` as a process of its own, as its users run it."""

import signal

from tools.processes import Served, free_ports
from tools.zookeeper_cluster import ZookeeperCluster


class Commander(Served):
    """One candidate for the office of a cluster's controller. It need not be elected when it is ready."""

    def __init__(self, cluster: ZookeeperCluster, node_id: int, **overrides: str) -> None:
        self.node_id = node_id
        port = free_ports(2)
        self.address, self.http = f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}"
        where = ["--backend", "zookeeper", "--node-id", str(node_id)]
        doors = ["--listener", self.address, "--http", self.http]
        log_path = cluster.folder / f"reassignd-{node_id}.log"
        super().__init__([*where, *doors], {"zookeeper.connect": cluster.zookeeper} | overrides, log_path)


BLOCKED_BY_SIGUSR1 = """
import signal, sys, time
from reassignd.cli import main

def block(*_):
    print("blocked", flush=True)
    time.sleep(1e6)

signal.signal(signal.SIGUSR1, block)
sys.exit(main())
"""


class Blockable(Commander):
    """One whose event loop can be made to stand still."""

    def __init__(self, cluster: ZookeeperCluster, node_id: int, **overrides: str) -> None:
        super().__init__(cluster, node_id, **overrides)
        python, _, _, *arguments = self._command
        self._command = [python, "-c", BLOCKED_BY_SIGUSR1, *arguments]

    def block(self) -> None:
        """Have the loop stand still for good; it does when this returns."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == "blocked\n"
