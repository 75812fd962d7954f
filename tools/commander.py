"""`reassignd serve --backend zookeeper` as a process of its own, as its users run it."""

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
