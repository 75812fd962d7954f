from common.error_codes import ErrorCode
from controller.model.errors import DONE, Outcome


def test_an_outcome_without_an_error_is_done() -> None:
    assert DONE.ok
    assert not Outcome(ErrorCode.INVALID_REQUEST, "why").ok


def test_an_outcome_says_what_is_wrong_by_its_message_or_else_its_name() -> None:
    assert Outcome(ErrorCode.INVALID_REQUEST, "why").text == "why"
    assert Outcome(ErrorCode.INVALID_REQUEST).text == "INVALID_REQUEST"
