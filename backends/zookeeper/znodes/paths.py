"""Where Kafka keeps what in ZooKeeper (Kafka: ZkData), and where we keep what is ours. All relative to the chroot."""

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CLUSTER_ID = "/cluster/id"
BROKERS = "/brokers/ids"
TOPICS = "/brokers/topics"
CONFIG_CHANGES = "/config/changes"
ISR_CHANGES = "/isr_change_notification"
LOG_DIR_EVENTS = "/log_dir_event_notification"
PRODUCER_IDS = "/latest_producer_id_block"

DELETE_TOPICS = "/admin/delete_topics"
PREFERRED_ELECTION = "/admin/preferred_replica_election"
REASSIGN = "/admin/reassign_partitions"
CANCEL = "/admin/cancel_reassignment_in_progress"
QUEUE = "/admin/reassign_partitions_queue"
REASSIGNMENTS = "/admin/reassignments"
"""KIP-236, earlier draft: one child a partition."""

OURS = "/reassignd"


def broker(number: int) -> str:
    """A broker's registration."""
    return f"{BROKERS}/{number}"


def topic(name: str) -> str:
    """A topic's assignment."""
    return f"{TOPICS}/{name}"


def partitions(name: str) -> str:
    """The parent of a topic's partitions."""
    return f"{TOPICS}/{name}/partitions"


def partition(name: str, number: int) -> str:
    """The parent of a partition's state."""
    return f"{TOPICS}/{name}/partitions/{number}"


def state(name: str, number: int) -> str:
    """Leader and ISR of a partition."""
    return f"{TOPICS}/{name}/partitions/{number}/state"


def config(entity: str) -> str:
    """Configured values of `topics/NAME`, `brokers/ID` or `brokers/<default>`."""
    return f"/config/{entity}"


def delete_topic(name: str) -> str:
    """An order to delete the topic."""
    return f"{DELETE_TOPICS}/{name}"
