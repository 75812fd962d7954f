"""Which versions may pass."""

from server.dispatch.registry import ROUTES
from server.gateway.versions import FETCH, HIDDEN, SERVED
from server.relay.versions import PRODUCE


def test_what_we_answer_is_served_in_the_versions_of_our_handlers() -> None:
    assert all(SERVED[key] == ROUTES[key].versions for key in (32, 33, 44, 45, 46))


def test_every_address_that_passes_can_be_rewritten() -> None:
    assert (SERVED[PRODUCE][-1], SERVED[FETCH][-1]) == (13, 15)
    assert {3, 10, 60} <= SERVED.keys()
    assert not HIDDEN & SERVED.keys()
