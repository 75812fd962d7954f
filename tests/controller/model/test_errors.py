from common.error_codes import ErrorCode
from controller.model.errors import DONE, Outcome


def test_an_outcome_without_an_error_is_done() -> None:
    assert DONE.ok
    assert not Outcome(ErrorCode.INVALID_REQUEST, "why").ok


def test_the_text_of_an_outcome_is_its_message_or_the_name_of_its_error() -> None:
    assert Outcome(ErrorCode.INVALID_REQUEST, "why").text == "why"
    assert Outcome(ErrorCode.INVALID_REQUEST).text == "INVALID_REQUEST"
