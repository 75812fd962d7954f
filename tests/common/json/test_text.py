import json
from collections.abc import Iterator

import pytest

from common.json.text import ROW_LENGTH, abbreviated, parse
from common.plan_errors import PlanError


def refusal(text: str | bytes) -> str:
    with pytest.raises(PlanError) as caught:
        parse(text.encode() if isinstance(text, str) else text)
    return str(caught.value)


def test_all_encodings_of_json_are_read() -> None:
    assert parse(b'{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}
    assert parse('["ä"]'.encode("utf-8-sig")) == parse('["ä"]'.encode("utf-16")) == ["ä"]


def test_invalid_json_is_refused() -> None:
    assert refusal("{").startswith("not JSON: Expecting property name")
    assert refusal("[" * 100_000) == "not JSON that can be read: nested too deep"
    assert refusal("") == "not JSON: Expecting value: line 1 column 1 (char 0)"
    assert refusal("[1, x]") == "not JSON: Expecting value: line 1 column 5 (char 4)"
    assert refusal("[NaN]") == "not JSON: NaN is no JSON number"
    assert refusal(b'["\xff"]') == "not JSON: byte 2 is not UTF-8 text"


def test_an_integer_with_thousands_of_digits_is_refused() -> None:
    text = "not JSON that can be read: an integer has more than 4300 digits"
    assert refusal("1" * 4301) == refusal('{"a": [-' + "1" * 4301 + "]}") == text
    assert parse(b"1" * 4300) == int("1" * 4300)


def test_a_row_that_would_hold_the_interpreter_for_long_is_refused_by_its_number() -> None:
    rows = '{"partitions": [{"replicas": [1]}, {"replicas": [1]}, {"replicas": [' + "1," * ROW_LENGTH
    assert refusal(rows).startswith(f"row 2 (counted from 0) is longer than {ROW_LENGTH} characters; ")
    assert refusal('{"topic": "' + "x" * ROW_LENGTH + '"}').startswith("row 0 ")


@pytest.mark.parametrize("text", ['"}",', '"\\\\",', '"\\"}",', '"\\\\}",', '"},{",'])
def test_a_brace_in_a_string_does_not_end_a_row(text: str) -> None:
    end = '"a"]}, {"replicas": [1]}]}'
    rows = '{"partitions": [{"replicas": [1]}, {"other": ['
    assert refusal(rows + text * (ROW_LENGTH // len(text) + 1) + end).startswith("row ")
    some = ROW_LENGTH // len(text) - 20
    read = json.loads(rows + text * some + end)
    assert parse((rows + text * some + end).encode()) == read


def test_an_object_may_have_100_000_keys() -> None:
    def keys(count: int) -> str:
        return "{" + ",".join(f'"{number}":{{}}' for number in range(count)) + "}"

    assert parse(keys(100_000).encode()) == {str(number): {} for number in range(100_000)}
    assert refusal(keys(100_001)) == "not JSON that can be read: an object has more than 100000 keys"


def test_a_text_of_many_rows_may_be_longer_than_a_row() -> None:
    rows = [{"topic": "x" * 1000}] * (ROW_LENGTH // 500)
    assert parse(json.dumps({"partitions": rows}).encode()) == {"partitions": rows}


def test_a_repeated_key_is_refused() -> None:
    assert refusal('{"a": 1, "b": 2, "a": 3}') == "not JSON: the key 'a' comes twice in one object"
    assert refusal('{"\\udc00": 1, "\\udc00": 2}') == "not JSON: the key '\\udc00' comes twice in one object"


def test_a_repeated_key_is_found_in_one_pass_and_shown_short() -> None:
    keys = "".join(f'"{number}":0,' for number in range(80_000))
    assert refusal("{" + keys + '"7":1}') == "not JSON: the key '7' comes twice in one object"
    long = "k" * 1000
    assert refusal(f'{{"{long}":0,"{long}":0}}').startswith("not JSON: the key 'kkk")
    assert len(refusal(f'{{"{long}":0,"{long}":0}}')) < 100


def test_a_lone_surrogate_is_refused() -> None:
    assert refusal('["\\ud800"]') == "not JSON: a text has \\ud800, half of a surrogate pair"
    for text in ('{"\\ud800": 1}', '{"a": {"b": "\\ud800"}}', '{"a": [["\\ud800"]]}', '[{}, "\\ud800"]'):
        assert refusal(text) == "not JSON: a text has \\ud800, half of a surrogate pair"
    assert refusal(b'["\xed\xa0\x80"]') == "not JSON: byte 2 is not UTF-8 text"


def test_a_short_value_is_shown_as_json() -> None:
    for value in ("", "x" * 38, [], {}, [1, [None, True]], {"a": 1, "b": [1.5, "ä"]}):
        assert abbreviated(value) == json.dumps(value, ensure_ascii=False)


def test_only_the_beginning_of_a_long_value_is_read() -> None:
    class Numbers(list[int]):
        def __iter__(self) -> Iterator[int]:
            yield from range(20)
            raise AssertionError("more was read than can be shown")

    assert abbreviated(Numbers([0])) == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11..."
    assert abbreviated({"a": {"b": ["x" * 100]}}) == '{"a": {"b": ["' + "x" * 23 + "..."


def test_a_long_value_is_cut_short() -> None:
    assert (abbreviated("x" * 100), abbreviated(None)) == ('"' + "x" * 36 + "...", "null")
