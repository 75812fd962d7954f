"""`GET /review_board` and `POST /review`: requests that wait for a second person, and decisions."""

from typing import Annotated

from msgspec import Meta, field

from server.cruisecontrol.shared.access import ClientRole
from server.cruisecontrol.shared.approvals import ReviewBoard, board, decide
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.errors import bad_parameter, not_offered
from server.cruisecontrol.shared.parameters import Parameters


class ReviewBoardParameters(Parameters, kw_only=True):
    """Which requests are listed."""

    review_ids: Annotated[list[int], Meta(description="Only requests with these ids.")] = field(
        default_factory=list
    )


class ReviewParameters(Parameters, kw_only=True):
    """Requests to decide about."""

    approve: Annotated[list[int], Meta(description="Requests of others that may be carried out, by id.")] = (
        field(default_factory=list)
    )
    discard: Annotated[list[int], Meta(description="Requests that may not be carried out, by id.")] = field(
        default_factory=list
    )


async def review_board(call: CruiseControlCall, given: ReviewBoardParameters) -> ReviewBoard:
    """List the requests."""
    held, now = call.state.held, call.context.wall_clock()
    numbers = given.review_ids or list(held.by_id)
    found = (held.find(number, now) for number in {*numbers})
    return board(each for each in found if each is not None)


async def review(call: CruiseControlCall, given: ReviewParameters) -> ReviewBoard:
    """Approve and discard."""
    if not call.context.two_step:
        raise not_offered(
            "Requests are not reviewed: a dry run shows the plan, which an equal request executes"
            " (cruisecontrol.two.step.verification)."
        )
    if not given.approve and not given.discard:
        raise bad_parameter("Name requests to approve or to discard.")
    return await decide(call.context, given.approve, given.discard, given.reason, call.call.requester)


ENDPOINTS = (
    Endpoint(
        "GET",
        "review_board",
        "List the requests that wait for a second person.",
        ReviewBoardParameters,
        review_board,
        role=ClientRole.VIEWER,
    ),
    Endpoint("POST", "review", "Approve or discard requests of others.", ReviewParameters, review),
)
