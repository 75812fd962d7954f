"""Values that do not fit a model are refused in one line that names the field."""

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import UNSET, Meta, Struct, UnsetType, field

from common.json.models import convert_model, decode_foreign
from common.plan_errors import PlanError

Number = Annotated[int, Meta(ge=0, le=9, description="A digit.")]


class Inner(Struct):
    name: Annotated[str, Meta(min_length=1, extra={"expected": "a name"})]
    numbers: tuple[Number, ...] = ()


class Outer(Struct, forbid_unknown_fields=True):
    inner: Inner | None = None
    rows: list[Inner] = field(default_factory=list)
    kind: Literal["a", "b"] = "a"
    switch: bool = False
    digit: Number | None = None
    factor: Annotated[float, Meta(ge=0)] = 1
    text: str = ""
    everything: Literal[True] | UnsetType = field(default=UNSET, name="all")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], "the body is [], expected an object"),
        (
            {"other": 1},
            (
                'the body has the unknown key "other"; known: inner, rows, kind, switch, digit, factor,'
                " text, all"
            ),
        ),
        ({"inner": {}}, "inner: 'name' is missing, expected a name"),
        ({"inner": {"name": ""}}, "inner: 'name' is \"\", expected a name"),
        (
            {"inner": {"name": "x", "numbers": [1, 10]}},
            "inner.numbers[1] is 10, expected a number from 0 to 9",
        ),
        ({"rows": [{"name": "x"}, {"name": 1}]}, "rows[1]: 'name' is 1, expected a name"),
        ({"rows": [7]}, "rows[0] is 7, expected an object"),
        ({"rows": {}}, "'rows' is {}, expected a list"),
        ({"kind": "c"}, '\'kind\' is "c", expected "a" or "b"'),
        ({"switch": 1}, "'switch' is 1, expected true or false"),
        ({"digit": True}, "'digit' is true, expected a number from 0 to 9 or null"),
        ({"factor": 10**400}, f"'factor' is {'1' + '0' * 36}..., expected a number"),
        ({"text": None}, "'text' is null, expected text"),
        ({"all": False}, "'all' is false, expected true"),
    ],
)
def test_the_error_names_the_field_its_value_and_the_expected_type(value: object, text: str) -> None:
    with pytest.raises(PlanError) as caught:
        convert_model(value, Outer)
    assert str(caught.value) == text


def test_an_unknown_key_of_any_characters_is_one_line() -> None:
    for key, shown in (("a` - at `$.b", '"a` - at `$.b"'), ("a\n` - at `$.b", '"a\\n` - at `$.b"')):
        with pytest.raises(PlanError) as caught:
            convert_model({"text": "", key: 1}, Outer)
        assert str(caught.value).startswith(f"the body has the unknown key {shown}; known: inner, ")


def test_a_value_that_fits_is_converted() -> None:
    assert convert_model({"inner": {"name": "x", "more": 1}, "all": True}, Outer) == Outer(
        Inner("x"), everything=True
    )


DEEP = b"[" * 5_000 + b"]" * 5_000
ANY = msgspec.json.Decoder(dict[str, object])


def test_json_is_decoded() -> None:
    assert decode_foreign(b'{"a":[1]}', ANY) == {"a": [1]}


@pytest.mark.parametrize("text", [b"", b"[1]", b'{"a":' + DEEP + b"}", b'{"a":"\xff"}'])
def test_what_cannot_be_decoded_is_one_kind_of_error(text: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_foreign(text, ANY)
