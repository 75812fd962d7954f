import pytest

from common.error_codes import ErrorCode
from controller.model.errors import DONE, Outcome
from server.api.errors import HttpError, require


def test_what_was_done_ends_no_request() -> None:
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
def test_a_refusal_ends_the_request_with_a_status_of_its_kind(error: ErrorCode, status: int) -> None:
    with pytest.raises(HttpError, match="why not") as raised:
        require(Outcome(error, "why not"))
    assert raised.value.status == status


def test_a_refusal_without_words_is_named() -> None:
    with pytest.raises(HttpError, match="NOT_CONTROLLER"):
        require(Outcome(ErrorCode.NOT_CONTROLLER))
