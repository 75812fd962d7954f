"""Which regular expressions of topics are taken: none that can take exponential time."""

import pytest

from server.cruisecontrol.shared.errors import CruiseControlError
from server.cruisecontrol.shared.patterns import topic_pattern


@pytest.mark.parametrize(
    "text",
    [
        "foo", "foo.*", "a.*|b.*|c.*|d.*|e.*", "(?!__).*", "(?i)foo-\\d{3}", "(foo|bar)-.*", "(foo-)?bar",
        "[(a+)+]", "\\(a\\)+", "a.*?b.*?c.*?", "[])+]x", "(?:a|b)c",
        "(a.*|b.*|c.*|d.*)", "x(a.*|(b|c).*)|(d*|e*)(f*|g)|h",
    ],
)  # fmt: skip
def test_usual_expressions_are_taken(text: str) -> None:
    assert topic_pattern(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "(a+)+$", "(a|a)*b", "(a{1,9}){9}", "a?a?a?a?aaaa", ".*.*.*.*x", "(a*|b)(a*|b)(a*|b)(a*|b)",
        "(?x)#[\n(a+)+$ #]", "(?#[)(a+)+$(?#])", "(?P<x>a)",
    ],
)  # fmt: skip
def test_expressions_that_can_take_long_are_refused(text: str) -> None:
    with pytest.raises(CruiseControlError, match="could take too long"):
        topic_pattern(text)


@pytest.mark.parametrize("text", ["(", "a{99999999999}", "(" * 4000 + ")" * 4000])
def test_an_expression_that_cannot_be_compiled_is_not_valid(text: str) -> None:
    with pytest.raises(CruiseControlError, match="is not valid"):
        topic_pattern(text)
