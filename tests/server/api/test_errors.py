import pytest

from common.error_codes import ErrorCode
from controller.model.errors import DONE, Outcome
from server.api.errors import HttpError, require


def test_a_successful_outcome_raises_nothing() -> None:
    require(DONE)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 404),
        (ErrorCode.RESOURCE_NOT_FOUND, 404),
        (ErrorCode.INVALID_REQUEST, 409),
        (ErrorCode.REASSIGNMENT_IN_PROGRESS, 409),
        (ErrorCode.INVALID_CONFIG, 400),
    ],
)
def test_an_error_is_raised_with_its_http_status(error: ErrorCode, status: int) -> None:
    with pytest.raises(HttpError, match="why not") as raised:
        require(Outcome(error, "why not"))
    assert raised.value.status == status


def test_an_error_without_a_message_is_shown_by_name() -> None:
    with pytest.raises(HttpError, match="NOT_CONTROLLER"):
        require(Outcome(ErrorCode.NOT_CONTROLLER))
