from pathlib import Path

import pytest

from reassignd.config.errors import ConfigError
from reassignd.config.properties import Property, parse

FILE = Path("a.properties")


def pairs(text: str) -> list[tuple[str, str]]:
    return [(each.key, each.value) for each in parse(text, FILE)]


@pytest.mark.parametrize("line", ["key=value", "key:value", "key value", "key = value", "  key\t: value"])
def test_equals_colon_and_blanks_separate_key_and_value(line: str) -> None:
    assert pairs(line) == [("key", "value")]


def test_comments_and_empty_lines_are_ignored() -> None:
    assert pairs("# one\n! two\n\n   \n  # three\nkey=value") == [("key", "value")]


def test_a_hash_in_a_value_is_no_comment() -> None:
    assert pairs("key=a # b") == [("key", "a # b")]


def test_a_backslash_at_the_end_continues_the_line_without_its_indentation() -> None:
    assert pairs("hosts=a,\\\n    b,\\\n    c\nnext=1") == [("hosts", "a,b,c"), ("next", "1")]


def test_an_escaped_backslash_at_the_end_does_not_continue_the_line() -> None:
    assert pairs("dir=c:\\\\\nnext=1") == [("dir", "c:\\"), ("next", "1")]


def test_a_continuation_ends_with_the_file() -> None:
    assert pairs("key=value\\") == [("key", "value")]


def test_a_key_may_hold_an_escaped_separator() -> None:
    assert pairs("a\\ b\\=c=d") == [("a b=c", "d")]


def test_escapes_stand_for_characters() -> None:
    assert pairs("key=\\t\\u00e9\\n\\q") == [("key", "\té\nq")]


def test_two_escapes_of_java_can_be_one_character() -> None:
    assert pairs("\\uD83D\\uDE00=a\\uD83D\\uDE00b") == [("\U0001f600", "a\U0001f600b")]


@pytest.mark.parametrize("line", ["key=\\uD83D", "key=\\uDE00\\uD83D", "key=\\uD83D \\uDE00", "\\uDE00=x"])
def test_half_a_character_is_named_with_its_line(line: str) -> None:
    with pytest.raises(ConfigError, match=r"^a\.properties:2: .* are halves of characters"):
        pairs(f"a=b\n{line}\nc=d")


def test_a_key_alone_has_an_empty_value() -> None:
    assert pairs("key") == [("key", "")]


def test_only_the_first_separator_separates() -> None:
    assert pairs("listener=127.0.0.1:9092") == [("listener", "127.0.0.1:9092")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_an_assignment_has_the_number_of_its_first_line(end: str) -> None:
    text = end.join(["# head", "a=1\\", "2", "b=3"])
    assert list(parse(text, FILE)) == [Property("a", "12", 2), Property("b", "3", 4)]
