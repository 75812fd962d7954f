"""Effects of a decision. They are carried out in order, after the decision's records are durable.

An effect contains immutable records, so later decisions do not change what brokers receive.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from controller.model.cluster import Partition, Replicas, ResourceType
from controller.model.configs import ConfigChange, Resource

TOPIC_DELETED = -2
"""Leader epoch of a `DropReplica` that no epoch fences, and the leader that UpdateMetadata names then."""


class Publish(NamedTuple):
    """LeaderAndIsr to the live replicas of the partition, UpdateMetadata to every live broker.

    `new` are the replicas that may not have a log yet (LeaderAndIsr isNew). `target` is the final target
    while a reassignment goes on, else empty (KIP-352; a tagged field of UpdateMetadata v6+). `lead` False
    sends UpdateMetadata only: nothing changed for the replicas themselves.
    """

    partition: Partition
    new: Replicas = ()
    target: Replicas = ()
    lead: bool = True


class DropReplica(NamedTuple):
    """StopReplica with delete to these brokers; `leader_epoch` is TOPIC_DELETED when the topic is."""

    topic: str
    partition: int
    brokers: Replicas
    leader_epoch: int


class TopicDeleted(NamedTuple):
    """The topic was deleted. Earlier effects have dropped its replicas."""

    topic: str


class BrokerJoined(NamedTuple):
    """Tell the broker everything: UpdateMetadata of all partitions, then LeaderAndIsr for its replicas.

    The others get the new list of brokers. The broker drops replicas that it is not told of.
    """

    broker: int


class BrokerLeft(NamedTuple):
    """Nothing more is sent to the broker; the others get the new list of brokers."""

    broker: int


class ConfigsChanged(NamedTuple):
    """Configured values of the resource changed; read them from `State`."""

    resource: ResourceType
    name: str


class Submit(NamedTuple):
    """One row for an upstream's AlterPartitionReassignments (45); None takes back what it does.

    Answer: `Submitted`.
    """

    topic: str
    partition: int
    replicas: Replicas | None


class Elect(NamedTuple):
    """Have an upstream elect the partition's preferred leader (43). Polls show the result."""

    topic: str
    partition: int


class ReadThrottle(NamedTuple):
    """Read the upstream's throttle configs that may have to change; see `controller.gateway.throttle`.

    Answer: `ThrottleRead`.
    """


class AlterThrottle(NamedTuple):
    """Change throttle configs of an upstream, by topic or broker.

    Entries are appended before others are removed.

    What the upstream acknowledges is part of the next `ThrottleRead`; what fails is decided again on it.
    """

    changes: Mapping[Resource, Sequence[ConfigChange]]


BrokerCommand = Publish | DropReplica | BrokerJoined | BrokerLeft
"""Effects that become requests to brokers, where reassignd is the controller."""

ControllerEffect = BrokerCommand | TopicDeleted | ConfigsChanged
"""Effects where reassignd is the controller: the embedded cluster and ZooKeeper mode."""

UpstreamEffect = Submit | Elect | ReadThrottle | AlterThrottle | ConfigsChanged
"""Effects where another controller carries out the steps."""

Effect = ControllerEffect | UpstreamEffect
