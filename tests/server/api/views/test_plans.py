"""Conversion of plans for the controller."""

from controller.model.plan import read_plan
from server.api.views.plans import originals, plan_rows, topics_of
from tests.server.api.api_client import MOVE, three_partitions


def test_adjacent_entries_of_a_topic_form_a_group() -> None:
    [topic] = topics_of(read_plan(MOVE))
    assert (topic.topic, [row.partition for row in topic.rows or ()]) == ("foo", [0, 1])


def test_the_rollback_plan_of_a_moving_partition_has_its_originals() -> None:
    controller = three_partitions()
    controller.alter({"foo-0": [4, 5, 6]})
    rows = list(plan_rows(originals(controller.state, read_plan(MOVE))))
    assert [row.replicas for row in rows] == [(1, 2, 3), (1, 2, 3)]
