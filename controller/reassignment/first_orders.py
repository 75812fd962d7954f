"""First orders in bulk. Most rows of a large plan are first orders; in bulk they take a third of the time."""

from controller.model.cluster import Reassignment, TopicPartition
from controller.model.rows import row_maker
from controller.state.decision import Decision

FirstOrders = dict[TopicPartition, Reassignment]
"""First orders of one job for one topic. The result of `accept_all` is that of `phases.fire` for each."""

new_reassignment = row_maker(Reassignment)


def accept_all(d: Decision, topic: str, job: int, orders: FirstOrders) -> None:
    """Record the orders, enqueue their partitions, and remove them from `orders`."""
    if orders:
        d.state.put_first(topic, job, orders)
        d.changes += orders.values()
        d.state.backlog.enqueue_all(orders)
        orders.clear()
