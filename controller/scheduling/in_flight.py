"""The index of the partitions that have a step in flight."""

from collections.abc import Iterable, Iterator

from controller.model.configs import ResourceType
from controller.model.replicas import TopicPartition

MOVING = 1
"""The partition has replicas that are being added or removed."""
AT_UPSTREAM = 2
"""The upstream carries out a step of ours. If the step only reorders replicas, the partition is not `MOVING`.
"""


class StepsInFlight:
    """The partitions with a step in flight, by topic.

    `State` and `GatewayState` update it with each record that changes a partition or a step.
    """

    def __init__(self) -> None:
        self.by_topic: dict[str, dict[int, int]] = {}
        """Topic -> partition -> why its step is in flight (MOVING, AT_UPSTREAM). Topics without a step are
        absent."""
        self.changed_topics: set[str] = set()
        """Topics in which a step began, changed or ended, or configs changed, since the throttle was
        adjusted."""
        self._count = 0

    def __contains__(self, key: TopicPartition) -> bool:
        return key[1] in self.by_topic.get(key[0], ())

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[TopicPartition]:
        for topic, numbers in list(self.by_topic.items()):
            for number in sorted(numbers):
                yield TopicPartition(topic, number)

    def note(self, topic: str, number: int, reason: int, holds: bool) -> None:
        """Set whether the reason applies to the partition. A step is in flight while at least one does."""
        numbers = self.by_topic.get(topic)
        before = numbers.get(number, 0) if numbers else 0
        after = before | reason if holds else before & ~reason
        if not before and not after:
            return
        self.changed_topics.add(topic)
        self._count += bool(after) - bool(before)
        if numbers is None:
            numbers = self.by_topic[topic] = {}
        numbers[number] = after
        if not after:
            del numbers[number]
            if not numbers:
                del self.by_topic[topic]

    def take_changed(self) -> set[str]:
        """Empty `changed_topics`, and return what was in it."""
        changed, self.changed_topics = self.changed_topics, set()
        return changed

    def look_again(self, topics: Iterable[str]) -> None:
        """Adjust the throttle of these topics as if something had changed in them."""
        self.changed_topics.update(topics)

    def configs_changed(self, resource: ResourceType, name: str) -> None:
        """Note that someone changed configs of the resource.

        Lists of throttled replicas may be among them.
        """
        if resource is ResourceType.TOPIC and name in self.by_topic:
            self.changed_topics.add(name)

    def end_moves(self, topic: str, numbers: Iterable[int]) -> None:
        """As `note` of each, for partitions of the topic for which MOVING does not apply any more."""
        held = self.by_topic.get(topic)
        if not held:
            return
        before = len(held)
        for number in numbers:
            why = held.pop(number, 0)
            if why:
                self.changed_topics.add(topic)
            if why & ~MOVING:
                held[number] = why & ~MOVING
        self._count -= before - len(held)
        if not held:
            del self.by_topic[topic]

    def at_upstream(self) -> list[TopicPartition]:
        """Return the partitions whose step the upstream carries out for us."""
        topics = self.by_topic.items()
        return [
            TopicPartition(topic, n) for topic, ns in topics for n, why in ns.items() if why & AT_UPSTREAM
        ]
