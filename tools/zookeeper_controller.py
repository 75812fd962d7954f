"""Run `reassignd serve --backend zookeeper` as a process."""

import signal

from tools.ports import free_ports
from tools.processes import ServerProcess
from tools.zookeeper_cluster import ZookeeperCluster


class ControllerProcess(ServerProcess):
    """A candidate for the election of a cluster's controller. When `start` returns it may be on standby."""

    def __init__(self, cluster: ZookeeperCluster, node_id: int, **overrides: str) -> None:
        self.node_id = node_id
        port = free_ports(2)
        self.address, self.http = f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}"
        backend = ["--backend", "zookeeper", "--node-id", str(node_id)]
        listeners = ["--listener", self.address, "--http", self.http]
        log_path = cluster.folder / f"reassignd-{node_id}.log"
        super().__init__(
            [*backend, *listeners], {"zookeeper.connect": cluster.zookeeper} | overrides, log_path
        )


BLOCKED_BY_SIGUSR1 = """
import signal, sys, time
from reassignd.cli import main

def block(*_):
    print("blocked", flush=True)
    time.sleep(1e6)

signal.signal(signal.SIGUSR1, block)
sys.exit(main())
"""


class BlockableController(ControllerProcess):
    """A controller process whose event loop can be blocked."""

    def __init__(self, cluster: ZookeeperCluster, node_id: int, **overrides: str) -> None:
        super().__init__(cluster, node_id, **overrides)
        python, _, _, *arguments = self._command
        self._command = [python, "-c", BLOCKED_BY_SIGUSR1, *arguments]

    def block(self) -> None:
        """Block the event loop until the process ends. Returns when the loop is blocked."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == "blocked\n"
