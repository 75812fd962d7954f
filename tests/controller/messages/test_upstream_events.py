from controller.messages.upstream_events import SeenMove


def test_a_move_leads_to_what_is_left_without_the_removed() -> None:
    assert SeenMove((3, 4, 1, 2), (3, 4), (1, 2)).target == (3, 4)
