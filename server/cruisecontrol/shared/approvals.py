"""Requests that wait for the approval of a second person (`cruisecontrol.two.step.verification`).

A request that changes something is held, and answered with its id. Somebody else approves it, and the client
sends it again with that id as `review_id`. Dry runs change nothing, and are not held.
"""

import logging
from collections.abc import Iterable
from urllib.parse import parse_qsl

from msgspec import Struct, field

from controller.messages.event import Requester
from controller.messages.held_events import DecideHeld, Hold, SubmitHeld
from controller.model.held_requests import HeldRequest
from server.cruisecontrol.shared.call import ClusterContext, Endpoint
from server.cruisecontrol.shared.errors import bad_parameter
from server.cruisecontrol.shared.parameters import Parameters, read_parameters
from server.cruisecontrol.shared.tasks import TaskRequest

log = logging.getLogger(__name__)


class ReviewRow(Struct):
    """A held request as Cruise Control shows it."""

    id: int = field(name="Id")
    client: str = field(name="SubmitterAddress")
    held_ms: int = field(name="SubmissionTimeMs")
    state: str = field(name="Status")
    request: str = field(name="EndpointWithParams")
    reason: str = field(name="Reason")


class ReviewBoard(Struct):
    """Held requests."""

    requests: list[ReviewRow] = field(name="RequestInfo")
    version: int = 1


def board(requests: Iterable[HeldRequest]) -> ReviewBoard:
    """Return the requests in order of their ids."""
    return ReviewBoard(
        [
            ReviewRow(
                held.id,
                held.client,
                held.held_ms,
                held.state.value,
                held.asked,
                f"{held.reason} ({held.decided_by})" if held.decided_by else held.reason,
            )
            for held in sorted(requests)
        ]
    )


def review_of(context: ClusterContext, endpoint: Endpoint, given: Parameters) -> int | None:
    """Return the id of the held request that is to be carried out; None if the request names none."""
    number: int | None = getattr(given, "review_id", None)
    return number if context.two_step and endpoint.held else None


def must_wait(context: ClusterContext, endpoint: Endpoint, given: Parameters) -> bool:
    """Return whether a second person has to approve the request first."""
    changes = context.two_step and endpoint.held and not getattr(given, "dryrun", False)
    return changes and review_of(context, endpoint, given) is None


async def hold(context: ClusterContext, line: TaskRequest, body: bytes, requester: Requester) -> ReviewBoard:
    """Keep the request; return it."""
    query = line.url.partition("?")[2]
    request = HeldRequest(
        0, 0, line.endpoint, query, body.decode(errors="replace"), line.client, line.principal
    )
    held = await context.services.driver.submit(Hold(request, requester))
    log.info("request %d of %s waits for an approval: %s", held.id, held.principal, line.url[:200])
    return board([held])


async def decide(
    context: ClusterContext, approved: list[int], discarded: list[int], reason: str, requester: Requester
) -> ReviewBoard:
    """Approve and discard; return these requests. Raises CruiseControlError."""
    refusal = await context.services.driver.submit(DecideHeld(approved, discarded, reason, requester))
    if refusal:
        raise bad_parameter(f"Nothing is decided: {refusal}.")
    log.info("%s has approved requests %s, and discarded %s", requester.principal, approved, discarded)
    decided = {*approved, *discarded}
    return board(held for held in context.services.state.held.by_id.values() if held.id in decided)


async def carried_out(
    context: ClusterContext, endpoint: Endpoint, number: int, requester: Requester
) -> tuple[Parameters, bytes]:
    """Return the parameters and the body of an approved request, which is carried out now.

    Those that the client has sent beside the id do not count, as with Cruise Control. Raises
    CruiseControlError.
    """
    held = await context.services.driver.submit(SubmitHeld(number, endpoint.name, requester))
    if isinstance(held, str):
        raise bad_parameter(f"review_id: {held}.")
    return read_parameters(
        endpoint.parameters, parse_qsl(held.query, keep_blank_values=True)
    ), held.body.encode()
