"""The versions that the gateway supports."""

from protocol.apis import ApiKey
from server.dispatch.registry import ROUTES
from server.gateway.versions import FETCH, HIDDEN, SERVED


def test_apis_answered_here_have_the_versions_of_their_handlers() -> None:
    assert all(SERVED[key] == ROUTES[key].versions for key in (32, 33, 44, 45, 46))


def test_every_supported_version_with_addresses_can_be_rewritten() -> None:
    assert (SERVED[ApiKey.PRODUCE][-1], SERVED[FETCH][-1]) == (13, 15)
    assert {3, 10, 60} <= SERVED.keys()
    assert not HIDDEN & SERVED.keys()
