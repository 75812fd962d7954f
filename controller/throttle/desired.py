"""The throttle that the steps in flight need (configs of KIP-73; lifetime of KIP-236).

The brokers that take part get a rate, and the topics get the lists of replicas that the rate applies to. Only
replicas that are being added are slowed. A partition with a lagging original is not slowed at its leader, so
that the original catches up (KIP-352).
"""

from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from controller.configs.names import FOLLOWER_REPLICAS, LEADER_REPLICAS, RATES
from controller.model.configs import Resource, ResourceType
from controller.state.state import State


class Throttle(NamedTuple):
    """The brokers that need the rate, and `partition:broker` entries by topic of leaders and of followers."""

    rate: int | None
    brokers: Collection[int]
    leaders: Mapping[str, Sequence[str]]
    followers: Mapping[str, Sequence[str]]
    paced: Mapping[int, int] = {}
    """Lower rates of single brokers."""

    def resources(self) -> set[Resource]:
        """Return the topics and brokers that need a value."""
        topics = {(ResourceType.TOPIC, topic) for topic in (*self.leaders, *self.followers)}
        return topics | {(ResourceType.BROKER, str(broker)) for broker in self.brokers}

    def configs(self, resource: Resource) -> dict[str, str]:
        """Return the desired value of each throttle config of the resource; empty if none is needed."""
        kind, name = resource
        if kind is ResourceType.BROKER:
            rate = self.paced.get(int(name), self.rate) if int(name) in self.brokers else None
            return dict.fromkeys(RATES, "" if rate is None else str(rate))
        sides = {LEADER_REPLICAS: self.leaders, FOLLOWER_REPLICAS: self.followers}
        return {config: ",".join(side.get(name, ())) for config, side in sides.items()}


NO_THROTTLE = Throttle(None, (), {}, {})


def desired_throttle(state: State) -> Throttle:
    """Return the throttle for the steps in flight on an upstream.

    Every broker of an entry gets the rate, because it can become the leader.
    """
    rate, paced = throttle_rate(state), lower_rates(state)
    if rate is None and not paced:
        return NO_THROTTLE
    lists = {topic: throttled_replicas(state, topic) for topic in state.in_flight.by_topic}
    lists = {topic: pair for topic, pair in lists.items() if rate is not None or any(pair)}
    leaders, followers = ({topic: pair[side] for topic, pair in lists.items()} for side in (0, 1))
    entries = (entry for side in (leaders, followers) for listed in side.values() for entry in listed)
    return Throttle(rate, {int(entry.partition(":")[2]) for entry in entries}, leaders, followers, paced)


def lower_rates(state: State) -> dict[int, int]:
    """Return by broker the rates of pace that are below the common one."""
    rate = throttle_rate(state)
    return {broker: paced for broker, paced in state.paced_rates.items() if rate is None or paced < rate}


def broker_rate(state: State, broker: int) -> int | None:
    """Return the throttle of the broker in bytes per second; None for none."""
    rate, paced = throttle_rate(state), state.paced_rates.get(broker)
    return min((each for each in (rate, paced) if each is not None), default=None)


def throttle_rate(state: State) -> int | None:
    """Return the lowest rate of the cluster, the open jobs and the schedule in bytes per second; None for no throttle."""
    rates = list(state.throttles.values())
    if state.opening.throttle is not None:
        rates.append(state.opening.throttle)
    return min(rates, default=None)


def throttle_source(state: State) -> str:
    """Return which of the rates is the lowest, and so the one in force: of the cluster, a job or the schedule."""
    rates = [(rate, f"job {job}" if job else "the cluster") for job, rate in sorted(state.throttles.items())]
    if state.opening.throttle is not None:
        rates.append((state.opening.throttle, "the schedule"))
    return min(rates, key=itemgetter(0), default=(0, ""))[1]


def throttled_replicas(state: State, topic: str) -> tuple[list[str], list[str]]:
    """Return the `partition:broker` entries for leaders and for followers, without external reassignments.

    Without a common rate, these are the replicas on brokers that pace throttles.
    """
    leaders: list[str] = []
    followers: list[str] = []
    slowed = None if throttle_rate(state) is not None else state.paced_rates
    for number in sorted(state.in_flight.by_topic.get(topic, ())):
        partition = state.partition(topic, number)
        if partition is None or partition.key in state.external:
            continue
        followers += [f"{number}:{r}" for r in partition.adding if slowed is None or r in slowed]
        if partition.adding and not partition.under_replicated:
            leaders += [f"{number}:{r}" for r in partition.current if slowed is None or r in slowed]
    return leaders, followers
