from controller.messages.upstream_events import UpstreamMove


def test_a_reassignment_leads_to_the_replicas_without_the_removed_ones() -> None:
    assert UpstreamMove((3, 4, 1, 2), (3, 4), (1, 2)).target == (3, 4)
