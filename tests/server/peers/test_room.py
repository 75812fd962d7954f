"""The sender's room for requests is within what the receiver takes."""

from protocol.frames import MAX_FRAME
from server.peers.room import IN_FLIGHT, LARGEST_BODY, LARGEST_REQUESTS, SMALL


def test_all_requests_that_have_room_are_within_the_receivers_bound() -> None:
    headers = IN_FLIGHT * 64 * 1024
    assert MAX_FRAME + MAX_FRAME // 2 + IN_FLIGHT * SMALL + headers < LARGEST_REQUESTS
    assert LARGEST_BODY <= MAX_FRAME
