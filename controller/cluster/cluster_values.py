"""Cluster-wide values of configs, with their defaults, and what one of them forbids."""

from controller.cluster.config_keys import BROKER_KEYS
from controller.model.configs import MAX_DISK_USAGE, ResourceType
from controller.state.settings import CLUSTER_DEFAULT
from controller.state.state import State


def cluster_value(state: State, key: str) -> str:
    """Return the cluster-wide value in force: the one that was set, else the default of the key."""
    return state.settings.config(ResourceType.BROKER, CLUSTER_DEFAULT, key) or BROKER_KEYS[key].default


def too_full(state: State, broker: int, path: str, used: float) -> str:
    """Return why so large a fraction of a log directory must not be used; empty if it may be."""
    most = float(cluster_value(state, MAX_DISK_USAGE))
    return f"broker {broker}: {path} would be {used:.0%} full, {most:.0%} is the most" if used > most else ""
