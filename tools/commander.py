"""`reassignd serve --backend zookeeper` as a process of its own, as its users run it."""

import subprocess
import sys
from threading import Timer

from tools.processes import free_ports
from tools.zookeeper_cluster import ZookeeperCluster

READY_SECONDS = 60
STOP_SECONDS = 30


class Commander:
    """One `reassignd serve --backend zookeeper` as a process."""

    def __init__(self, cluster: ZookeeperCluster, node_id: int, **overrides: str) -> None:
        self.node_id = node_id
        port = free_ports(2)
        self.address, self.http = f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}"
        self._cluster, self._overrides = cluster, overrides
        self.log_path = cluster.folder / f"reassignd-{node_id}.log"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Returns when it stands; it need not be elected by then."""
        with self.log_path.open("a") as log:
            process = subprocess.Popen(self._command(), stdout=subprocess.PIPE, stderr=log, text=True)
        self._process = process
        assert process.stdout is not None
        deadline = Timer(READY_SECONDS, process.kill)
        deadline.start()
        line = process.stdout.readline()
        deadline.cancel()
        if not line.startswith("ready: "):
            self.kill()
            raise RuntimeError(f"reassignd did not start; it logged {self.log}")

    def kill(self) -> None:
        """Ends it as kill -9 does."""
        assert self._process is not None
        self._process.kill()
        self._process.communicate(timeout=STOP_SECONDS)

    def stop(self) -> int:
        """Ends it in order; the exit code."""
        assert self._process is not None
        self._process.terminate()
        self._process.communicate(timeout=STOP_SECONDS)
        return self._process.returncode

    @property
    def pid(self) -> int:
        """Of the process that runs now."""
        assert self._process is not None
        return self._process.pid

    @property
    def runs(self) -> bool:
        """It was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """What it has logged."""
        return self.log_path.read_text(errors="replace")

    def _command(self) -> list[str]:
        serve = [sys.executable, "-m", "reassignd", "serve", "--backend", "zookeeper"]
        where = ["--zookeeper", self._cluster.zookeeper, "--node-id", str(self.node_id)]
        doors = ["--listener", self.address, "--http", self.http]
        return [
            *serve,
            *where,
            *doors,
            *(f"--override={key}={value}" for key, value in self._overrides.items()),
        ]
