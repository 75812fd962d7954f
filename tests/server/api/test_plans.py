"""Plans as the controller takes them."""

from controller.model.plan import read_plan
from server.api.plans import originals, plan_rows, topics_of
from tests.server.api.desk import MOVE, three


def test_neighbours_of_one_topic_go_together() -> None:
    [topic] = topics_of(read_plan(MOVE))
    assert (topic.topic, [row.partition for row in topic.rows or ()]) == ("foo", [0, 1])


def test_the_way_back_of_what_moves_is_where_it_began() -> None:
    world = three()
    world.alter({"foo-0": [4, 5, 6]})
    rows = list(plan_rows(originals(world.state, read_plan(MOVE))))
    assert [row.replicas for row in rows] == [(1, 2, 3), (1, 2, 3)]
