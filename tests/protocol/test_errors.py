"""Error codes and exceptions."""

import pytest

from common.error_codes import ErrorCode
from protocol.errors import ApiError, DecodeError, EncodeError, ProtocolError


def test_codes_have_the_numbers_of_kafka() -> None:
    assert sorted(ErrorCode) == list(range(-1, 121))
    assert ErrorCode(85) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert ErrorCode(39) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


@pytest.mark.parametrize("error", [DecodeError("x"), EncodeError("x"), ApiError(ErrorCode.NOT_CONTROLLER)])
def test_all_errors_have_one_base(error: Exception) -> None:
    assert isinstance(error, ProtocolError)


def test_a_refusal_shows_its_code_and_message() -> None:
    error = ApiError(ErrorCode.INVALID_CONFIG, "no such key")
    assert (error.code, error.message, str(error)) == (40, "no such key", "INVALID_CONFIG: no such key")
    assert str(ApiError(ErrorCode.INVALID_CONFIG)) == "INVALID_CONFIG"
