"""Topics whose replicas brokers are deleting: what they are still asked for, and what they have confirmed.

Until all replicas are gone, the topic's znode stays, and no broker is told of its partitions: LeaderAndIsr would create
the replicas again.
"""

import asyncio
from collections.abc import Iterator, Sequence

from common.tasks import spawn
from controller.messages.effects import TOPIC_DELETED, BrokerLeft, DropReplica
from controller.messages.zookeeper_events import ReplicasDeleted
from controller.model.cluster import TopicPartition
from controller.ports import SubmitEvent
from controller.state.state import State


class TopicDeletions:
    """The deletions of one term. The controller keeps the replicas that are left (`State.dropping`)."""

    def __init__(self, state: State, submit: SubmitEvent) -> None:
        self._state, self._submit = state, submit
        self.topics: set[str] = set()
        """Topics whose drops were sent, until the controller has deleted them."""
        self.tasks: set[asyncio.Task[None]] = set()

    def began(self, effect: DropReplica | BrokerLeft) -> None:
        """Note the topic of a drop that deletes it."""
        if isinstance(effect, DropReplica) and effect.leader_epoch == TOPIC_DELETED:
            self.topics.add(effect.topic)

    def left_at(self, broker: int) -> Iterator[DropReplica]:
        """Yield the drops that a broker with a new connection is to get again, after the state of the cluster."""
        for topic in sorted(self.topics):
            for partition, at in sorted(self._state.dropping.get(topic, ())):
                if at == broker:
                    yield DropReplica(topic, partition, (broker,), TOPIC_DELETED)

    def confirm(self, broker: int, drops: Sequence[DropReplica]) -> None:
        """Tell the controller which replicas the broker has deleted for good."""
        keys = [
            TopicPartition(each.topic, each.partition) for each in drops if each.leader_epoch == TOPIC_DELETED
        ]
        if keys:
            task = spawn(self._submitted(ReplicasDeleted(broker, keys)), "deleted-replicas")
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _submitted(self, event: ReplicasDeleted) -> None:
        await self._submit(event)
