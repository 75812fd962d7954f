"""What is refused: a status and one line that names what is wrong."""

from controller.model.errors import Error, Outcome

STATUS = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: 404,
    Error.RESOURCE_NOT_FOUND: 404,
    Error.INVALID_REQUEST: 409,
    Error.REASSIGNMENT_IN_PROGRESS: 409,
}


class HttpError(Exception):
    """Ends a request with this status; the text is for the person who made it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def require(outcome: Outcome) -> None:
    """Raise ApiError when the controller refused the request as a whole."""
    if not outcome.ok:
        raise HttpError(STATUS.get(outcome.error, 400), outcome.text)
