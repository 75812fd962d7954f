"""Changes that brokers, tools or earlier controllers stored in the ZooKeeper of a ZooKeeper-mode cluster.

They are durable already: they change the state but are not written again. Changes that follow from them are.
"""

from collections.abc import Iterator, Mapping

from controller.cluster.config_keys import BROKER_KEYS, TOPIC_KEYS
from controller.cluster.configs import DECIDES_STEPS, retry
from controller.messages.effects import BrokerJoined, ConfigsChanged, Publish
from controller.messages.events import BrokerChanged, ConfigsStored, Halt, PartitionsStored, TopicStored
from controller.model.cluster import Broker, Config, Deleted, ResourceType, Topic
from controller.model.configs import SCHEDULE
from controller.model.election import after_loss
from controller.model.errors import DONE
from controller.reassignment.phases import Trigger, fire
from controller.schedule.periods import no_zones
from controller.scheduling.limits import ALIASES
from controller.state.state import Decision

ROWS_PER_SLICE = 500


def partitions_stored(d: Decision, event: PartitionsStored) -> Iterator[None]:
    """Apply ISRs that are newer than the state.

    Older ones precede a decision whose write will be observed later.
    """
    state = d.state
    for number, seen in enumerate(event.partitions, 1):
        known = state.cluster.partition(seen.topic, seen.partition)
        if known is None or known.leader_epoch != seen.leader_epoch:
            continue
        if seen.partition_epoch > known.partition_epoch:
            changed = known._replace(isr=seen.isr, leader=seen.leader, partition_epoch=seen.partition_epoch)
            state.put(changed)
            fire(d, changed, Trigger.PROGRESS)
            if state.cluster.partitions[seen.topic][seen.partition] is changed:
                wanted = state.orders.reassignments.get(changed.key)
                d.effects.append(Publish(changed, target=() if wanted is None else wanted.target, lead=False))
        if number % ROWS_PER_SLICE == 0:
            yield


def topic_stored(d: Decision, event: TopicStored) -> Iterator[None]:
    """Elect the first live replica of each new partition, with all live replicas in sync."""
    state = d.state
    if event.topic not in state.cluster.topics:
        state.put(Topic(event.topic, event.id))
    elif state.cluster.topics[event.topic].deleting:
        return
    for number, bare in enumerate(event.partitions, 1):
        if bare.partition != len(state.cluster.partitions[event.topic]):
            continue
        state.put(bare)
        partition = after_loss(bare, state.cluster.live, unclean=False)
        if partition is not bare:
            d.put(partition)
            d.effects.append(Publish(partition, new=partition.replicas))
        if number % ROWS_PER_SLICE == 0:
            yield


def configs_stored(d: Decision, event: ConfigsStored) -> Iterator[None]:
    """Apply the values. Invalid values count as not set."""
    state, resource, name = d.state, event.resource, event.name
    before = dict(state.settings.configs.get((resource, name), {}))
    after = understood(resource, event.values)
    if after == before:
        return
    for key in sorted(before.keys() - after.keys()):
        state.delete(Deleted(Config, (resource, name, key)))
    for key, value in after.items():
        if before.get(key) != value:
            state.put(Config(resource, name, key, value))
    if resource is ResourceType.TOPIC:
        state.in_flight.configs_changed(name)
    d.effects.append(ConfigsChanged(resource, name))
    changed = {key for key, _ in before.items() ^ after.items()}
    if DECIDES_STEPS & changed:
        for _ in retry(d):
            yield


def understood(resource: ResourceType, values: Mapping[str, str]) -> dict[str, str]:
    """Return the valid values by canonical name. The values are unchecked, because others stored them.

    A schedule that is not valid stays. It has no periods, so that no step starts, and is the reason that is
    shown: without it, steps would start at any time.
    """
    keys = TOPIC_KEYS if resource is ResourceType.TOPIC else BROKER_KEYS
    named = {ALIASES.get(name, name): value for name, value in values.items()}
    return {
        name: value
        for name, value in named.items()
        if name not in keys or name == SCHEDULE or keys[name].check(value, no_zones) is None
    }


def broker_changed(d: Decision, event: BrokerChanged) -> None:
    """Record the broker's new registration, and publish its endpoints to all brokers."""
    known = d.state.cluster.brokers.get(event.broker.id)
    if known is not None and event.broker.id in d.state.cluster.live:
        number, host, port, rack, epoch = event.broker
        d.put(Broker(number, host, port, rack, known.epoch if epoch is None else epoch))
        d.effects.append(BrokerJoined(number))


def halt(d: Decision, event: Halt) -> None:
    """Start no steps, or start them again."""
    d.state.backlog.halt(event.halted)
    d.answer(event, DONE)
