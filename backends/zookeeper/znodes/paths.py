"""Paths of Kafka's znodes (Kafka: ZkData) and of reassignd's own, relative to the chroot."""

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CLUSTER_ID = "/cluster/id"
BROKERS = "/brokers/ids"
TOPICS = "/brokers/topics"
CONFIG_CHANGES = "/config/changes"
CONFIG_CHANGE_PREFIX = f"{CONFIG_CHANGES}/config_change_"
ISR_CHANGES = "/isr_change_notification"
LOG_DIR_EVENTS = "/log_dir_event_notification"
PRODUCER_IDS = "/latest_producer_id_block"

DELETE_TOPICS = "/admin/delete_topics"
PREFERRED_ELECTION = "/admin/preferred_replica_election"
REASSIGN = "/admin/reassign_partitions"
CANCEL = "/admin/cancel_reassignment_in_progress"
QUEUE = "/admin/reassign_partitions_queue"
REASSIGNMENTS = "/admin/reassignments"
"""Earlier draft of KIP-236: one znode for each partition."""

OURS = "/reassignd"
"""Parent of reassignd's own records."""


def broker(number: int) -> str:
    """Return the path of a broker's registration."""
    return f"{BROKERS}/{number}"


def topic(name: str) -> str:
    """Return the path of a topic's assignment."""
    return f"{TOPICS}/{name}"


def partitions(name: str) -> str:
    """Return the path of the parent of a topic's partitions."""
    return f"{TOPICS}/{name}/partitions"


def partition(name: str, number: int) -> str:
    """Return the path of the parent of a partition's state."""
    return f"{TOPICS}/{name}/partitions/{number}"


def state(name: str, number: int) -> str:
    """Return the path of a partition's leader and ISR."""
    return f"{TOPICS}/{name}/partitions/{number}/state"


def config(entity: str) -> str:
    """Return the path of the configs of `topics/NAME`, `brokers/ID`, `brokers/<default>` or `users/NAME`."""
    return f"/config/{entity}"


def delete_topic(name: str) -> str:
    """Return the path of a request to delete the topic."""
    return f"{DELETE_TOPICS}/{name}"
