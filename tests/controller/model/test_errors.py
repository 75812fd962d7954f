from controller.model.errors import DONE, Error, Outcome
from protocol.errors import ErrorCode


def test_the_numbers_are_kafkas() -> None:
    assert [error.name for error in Error] == [
        ErrorCode(error).name.removesuffix("_EXCEPTION") for error in Error
    ]


def test_an_outcome_without_an_error_is_done() -> None:
    assert DONE.ok
    assert not Outcome(Error.INVALID_REQUEST, "why").ok


def test_an_outcome_says_what_is_wrong_by_its_message_or_else_its_name() -> None:
    assert Outcome(Error.INVALID_REQUEST, "why").text == "why"
    assert Outcome(Error.INVALID_REQUEST).text == "INVALID_REQUEST"
