import pytest

from common.json_text import abbreviated, parse
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
    assert refusal("1" * 5000).startswith("not JSON: Exceeds the limit")
    assert refusal("[NaN]") == "not JSON: NaN is no JSON number"
    assert refusal(b'["\xff"]') == "not JSON: byte 2 is not UTF-8 text"


def test_a_repeated_key_is_refused() -> None:
    assert refusal('{"a": 1, "b": 2, "a": 3}') == "not JSON: the key 'a' comes twice in one object"
    assert refusal('{"\\udc00": 1, "\\udc00": 2}') == "not JSON: the key '\\udc00' comes twice in one object"


def test_a_repeated_key_is_found_in_one_pass_and_shown_short() -> None:
    keys = "".join(f'"{number}":0,' for number in range(300_000))
    assert refusal("{" + keys + '"7":1}') == "not JSON: the key '7' comes twice in one object"
    long = "k" * 1000
    assert refusal(f'{{"{long}":0,"{long}":0}}').startswith("not JSON: the key 'kkk")
    assert len(refusal(f'{{"{long}":0,"{long}":0}}')) < 100


def test_a_lone_surrogate_is_refused() -> None:
    assert refusal('["\\ud800"]') == "not JSON: a text has \\ud800, half of a surrogate pair"
    assert refusal(b'["\xed\xa0\x80"]') == "not JSON: byte 2 is not UTF-8 text"


def test_a_long_value_is_cut_short() -> None:
    assert (abbreviated("x" * 100), abbreviated(None)) == ('"' + "x" * 36 + "...", "null")
