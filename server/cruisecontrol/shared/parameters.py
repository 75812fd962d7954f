"""Query parameters of Cruise Control's API: case-insensitive names and truth values, lists with commas.

The parameters of an endpoint are the fields of a model. What Cruise Control knows and reassignd has no use
for is a field too, so that clients that send it are answered; docs/cruise-control.md says which these are.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct, inspect

from common.json.models import fields_of, without_null
from server.cruisecontrol.shared.errors import bad_parameter

P = TypeVar("P", bound="Parameters")

SHOWN_LENGTH = 80
"""Characters of a name or a value in an error message."""

_TRUTH = {"true": True, "false": False}

Brokers = Annotated[list[int], Meta(description="Ids of brokers, with commas.")]
Names = Annotated[list[str], Meta(description="Names, with commas.")]
ReviewId = Annotated[
    int | None,
    Meta(description="Carries out the client's request with this id, which somebody else has approved."),
]


class Parameters(Struct, kw_only=True):
    """What every endpoint takes."""

    json: Annotated[bool, Meta(description="No effect: all answers are JSON.")] = False
    get_response_schema: Annotated[bool, Meta(description="No effect: no schema is sent.")] = False
    reason: Annotated[str, Meta(description="Shown by `state` while the job runs.", max_length=1_000)] = ""


def read_parameters(model: type[P], given: Iterable[tuple[str, str]]) -> P:
    """Return the parameters as an instance of the model. Raises CruiseControlError."""
    declared = _fields(model)
    values: dict[str, object] = {}
    for name, text in given:
        key = name.lower()
        if key not in declared:
            known = ", ".join(sorted(declared))
            raise bad_parameter(f"Unrecognized parameter '{name[:SHOWN_LENGTH]}'; known here: {known}.")
        if key in values:
            raise bad_parameter(f"The parameter '{key}' is given twice.")
        values[key] = _value(key, declared[key], text)
    try:
        return msgspec.convert(values, model)
    except msgspec.ValidationError as error:
        raise bad_parameter(f"A parameter is not valid: {error}") from error


def refuse_review(review: int | None) -> None:
    """Raise CruiseControlError if a review is named."""
    if review is not None:
        raise bad_parameter("review_id: reviews are not offered; leave it out.")


def simple_name(name: str) -> str:
    """Return the last part of the name of a Java class, in lower case: names have no case."""
    return name.rpartition(".")[2].lower()


@cache
def _fields(model: type[Parameters]) -> Mapping[str, inspect.Type]:
    return {name: without_null(each) for name, each in fields_of(inspect.type_info(model)).items()}


def _value(name: str, kind: inspect.Type, text: str) -> object:
    """Return the value in the type of the field. Raises CruiseControlError."""
    shown = text[:SHOWN_LENGTH]
    match kind:
        case inspect.BoolType():
            if text.lower() not in _TRUTH:
                raise bad_parameter(f"{name} is true or false, not '{shown}'.")
            return _TRUTH[text.lower()]
        case inspect.IntType():
            return _integer(name, text)
        case inspect.FloatType():
            try:
                return float(text)
            except ValueError as error:
                raise bad_parameter(f"{name} is a number, not '{shown}'.") from error
        case inspect.ListType(item_type=inspect.IntType()):
            return [_integer(name, part) for part in _parts(text)]
        case inspect.ListType():
            return _parts(text)
        case _:
            return text


def _integer(name: str, text: str) -> int:
    digits = text.strip().removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):
        raise bad_parameter(f"{name} takes integers, not '{text[:SHOWN_LENGTH]}'.")
    return int(text)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
