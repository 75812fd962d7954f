from planner.proposals.problem.nodes import ONE, Node, own_rack


def test_each_broker_without_a_rack_is_a_rack_of_its_own() -> None:
    assert own_rack(1) != own_rack(2)


def test_a_broker_is_live_and_of_weight_1_if_nothing_else_is_known() -> None:
    node = Node(1, own_rack(1), True, True)
    assert (node.weight, node.room, node.live) == (ONE, None, True)
