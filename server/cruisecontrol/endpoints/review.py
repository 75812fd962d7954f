"""`GET /review_board` and `POST /review`: there are no reviews, so the board is empty."""

from typing import Annotated

from msgspec import Meta, Struct, field

from server.cruisecontrol.shared.access import ClientRole
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.errors import not_offered
from server.cruisecontrol.shared.parameters import Parameters

Ids = Annotated[list[int], Meta(description="Ids of reviews, with commas.")]


class ReviewBoardParameters(Parameters, kw_only=True):
    """Which reviews are listed."""

    review_ids: Annotated[Ids, Meta(description="No effect: there are none.")] = field(default_factory=list)


class ReviewParameters(Parameters, kw_only=True):
    """Reviews to decide."""

    approve: Annotated[Ids, Meta(description="Refused.")] = field(default_factory=list)
    discard: Annotated[Ids, Meta(description="Refused.")] = field(default_factory=list)


class ReviewBoard(Struct):
    """No reviews."""

    requests: list[dict[str, str]] = field(name="RequestInfo", default_factory=list)
    version: int = 1


async def review_board(_: CruiseControlCall, __: ReviewBoardParameters) -> ReviewBoard:
    """List no reviews."""
    return ReviewBoard()


async def review(_: CruiseControlCall, __: ReviewParameters) -> ReviewBoard:
    """Refuse."""
    raise not_offered("Requests are not reviewed: a dry run shows the plan, which an equal request executes.")


ENDPOINTS = (
    Endpoint(
        "GET",
        "review_board",
        "List the reviews: none.",
        ReviewBoardParameters,
        review_board,
        role=ClientRole.VIEWER,
    ),
    Endpoint("POST", "review", "Decide reviews (refused).", ReviewParameters, review),
)
