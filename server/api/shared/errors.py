"""Refused requests: an HTTP status and one line that names the problem."""

from collections.abc import Sequence

from common.error_codes import ErrorCode
from controller.model.errors import Outcome

STATUS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 404,
    ErrorCode.RESOURCE_NOT_FOUND: 404,
    ErrorCode.INVALID_REQUEST: 409,
    ErrorCode.REASSIGNMENT_IN_PROGRESS: 409,
}


class HttpError(Exception):
    """A refused request; the text is the error line of the answer."""

    def __init__(self, status: int, text: str, faults: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.status = status
        self.faults = faults
        """A line for each wrong entry of a plan, if they are several."""


def require(outcome: Outcome) -> None:
    """Raise HttpError if the controller refused the whole request."""
    if not outcome.ok:
        raise HttpError(STATUS.get(outcome.error, 400), outcome.text)
