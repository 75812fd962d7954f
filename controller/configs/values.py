"""What is set on topics and brokers, and what counts where nothing is (KIP-226); what the backend settles. Which keys there are: `config_keys`."""

from collections.abc import Callable
from dataclasses import dataclass, field

from controller.configs.names import CANCEL_MODE, MIN_ISR, UNCLEAN_ELECTION
from controller.model.cluster import Config, ResourceType

CLUSTER_DEFAULT = ""
"""The name of the broker resource whose values count for the whole cluster."""


@dataclass(eq=False, slots=True)
class ConfigValues:
    """Values by resource, as they were set."""

    configs: dict[tuple[ResourceType, str], dict[str, str]] = field(default_factory=dict)
    """By resource and key; absent when nothing is set on the resource."""
    config_defaults: dict[str, str] = field(default_factory=dict)
    """Defaults that the server's own settings give, shown in place of those in `config_keys`; not durable."""
    controller_id: int | None = None
    """The id at which clients find the controller, where it is no broker. Configs can be set on it; it holds no replicas."""
    refused_topic: Callable[[str], bool] = lambda _name: False
    """Whether the backend holds something under the name of a topic that it refused to take for one."""
    fits_topic: Callable[[int, int], bool] = lambda _partitions, _replicas: True
    """Whether the backend can keep a topic of so many partitions with so many replicas."""

    def config(self, resource: ResourceType, name: str, key: str) -> str | None:
        """The value set on this resource itself, without defaults."""
        values = self.configs.get((resource, name))
        return None if values is None else values.get(key)

    def topic_config(self, topic: str, key: str) -> str | None:
        """The value that counts for a topic: its own, else the cluster-wide default, else None."""
        value = self.config(ResourceType.TOPIC, topic, key)
        if value is None:
            value = self.config(ResourceType.BROKER, CLUSTER_DEFAULT, key)
        return value

    def min_isr(self, topic: str) -> int:
        """`min.insync.replicas` of the topic."""
        return int(self.topic_config(topic, MIN_ISR) or 1)

    def unclean_allowed(self, topic: str) -> bool:
        """`unclean.leader.election.enable` of the topic."""
        return self.topic_config(topic, UNCLEAN_ELECTION) == "true"

    @property
    def cancel_stops(self) -> bool:
        """`reassignment.cancel.mode`: a cancel stops where the partition is (KIP-455) instead of going back."""
        return self.config(ResourceType.BROKER, CLUSTER_DEFAULT, CANCEL_MODE) == "stop"

    def _set_config(self, record: Config) -> None:
        self.configs.setdefault((record.resource, record.name), {})[record.config] = record.value

    def _unset_config(self, resource: ResourceType, name: str, key: str) -> None:
        values = self.configs[resource, name]
        del values[key]
        if not values:
            del self.configs[resource, name]
