from controller.messages.upstream_events import UpstreamMove


def test_a_move_leads_to_what_is_left_without_the_removed() -> None:
    assert UpstreamMove((3, 4, 1, 2), (3, 4), (1, 2)).target == (3, 4)
