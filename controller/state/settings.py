"""The config values of topics and brokers (KIP-226), and properties that the backend sets.

Keys: `controller.cluster.config_keys`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controller.model.cluster import ResourceType
from controller.model.configs import CANCEL_MODE, EXCLUDED_BROKERS, UNCLEAN_ELECTION, list_items

CLUSTER_DEFAULT = ""
"""Name of the broker resource whose values are the cluster-wide defaults."""


@dataclass(eq=False, slots=True)
class ConfigValues:
    """The values that are set on resources."""

    configs: dict[tuple[ResourceType, str], dict[str, str]] = field(default_factory=dict)
    """Values by resource and key. A resource without values is absent."""
    config_defaults: dict[str, str] = field(default_factory=dict)
    """Defaults from the server's settings; they replace those of `controller.cluster.config_keys`. Not durable."""
    static_configs: Mapping[str, str] = field(default_factory=dict)
    """Cluster-wide values from the server's settings, for keys without a dynamic value. Not durable."""
    controller_id: int | None = None
    """Node id of a controller that is not a broker. Configs can be set on it; it has no replicas."""
    refused_topic: Callable[[str], bool] = lambda _name: False
    """Whether the backend stores data under this topic name that it could not accept as a topic."""
    fits_topic: Callable[[int, int], bool] = lambda _partitions, _replicas: True
    """Whether the backend can store a topic with this number of partitions and of replicas."""

    topic_min_isr: dict[str, int] = field(default_factory=dict)
    """`min.insync.replicas` of the topics on which it is set."""
    default_min_isr: int = 1

    def config(self, resource: ResourceType, name: str, key: str) -> str | None:
        """Return the value set on the resource itself, without defaults.

        For the cluster-wide default, a value from the server's settings counts if there is no dynamic one.
        """
        values = self.configs.get((resource, name))
        value = None if values is None else values.get(key)
        if value is None and name == CLUSTER_DEFAULT and resource is ResourceType.BROKER:
            return self.static_configs.get(key)
        return value

    def dynamic_config(self, resource: ResourceType, name: str, key: str) -> str | None:
        """Return the value that was set on the resource while the server ran."""
        values = self.configs.get((resource, name))
        return None if values is None else values.get(key)

    @property
    def cluster_configs(self) -> dict[str, str]:
        """Return the cluster-wide values in force: those of the settings, replaced by dynamic ones."""
        return {**self.static_configs, **self.configs.get((ResourceType.BROKER, CLUSTER_DEFAULT), {})}

    def topic_config(self, topic: str, key: str) -> str | None:
        """Return the value in effect for a topic: its own, else the cluster-wide default, else None."""
        value = self.config(ResourceType.TOPIC, topic, key)
        if value is None:
            value = self.config(ResourceType.BROKER, CLUSTER_DEFAULT, key)
        return value

    def min_isr(self, topic: str) -> int:
        """Return `min.insync.replicas` of the topic."""
        return self.topic_min_isr.get(topic, self.default_min_isr)

    def unclean_allowed(self, topic: str) -> bool:
        """Return `unclean.leader.election.enable` of the topic."""
        return self.topic_config(topic, UNCLEAN_ELECTION) == "true"

    @property
    def cancel_stops(self) -> bool:
        """Whether `reassignment.cancel.mode` is `stop`: a cancel keeps the current replicas (KIP-455)."""
        return self.config(ResourceType.BROKER, CLUSTER_DEFAULT, CANCEL_MODE) == "stop"

    @property
    def excluded_brokers(self) -> frozenset[int]:
        """Return the brokers that get no new partitions (`reassignment.excluded.brokers`)."""
        value = self.config(ResourceType.BROKER, CLUSTER_DEFAULT, EXCLUDED_BROKERS)
        return frozenset(map(int, list_items(value)))
