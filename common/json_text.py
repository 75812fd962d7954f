"""JSON that people wrote or a program sent: read strictly, and shown in error lines."""

import json
import re
from typing import Any

from common.plan_errors import PlanError

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""Half of a pair, as an escape; on its own it is no text, and cannot be written anywhere."""

MESSAGE_LENGTH = 40
"""Characters of a value in an error line."""


def parse(data: bytes) -> Any:
    """The JSON value. Raises PlanError for what is none, names a key of an object twice, or is no Unicode text."""
    try:
        text = data.decode(json.detect_encoding(data))
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise PlanError("not JSON that can be read: nested too deep") from error
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        raise PlanError(f"not JSON: a text has {half}, half of a surrogate pair") from error
    except UnicodeDecodeError as error:
        raise PlanError(f"not JSON: byte {error.start} is not {error.encoding.upper()} text") from error
    except ValueError as error:
        raise PlanError(f"not JSON: {error}") from error
    return value


def abbreviated(value: object) -> str:
    """Return the value as JSON for an error message, at most `MESSAGE_LENGTH` characters long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MESSAGE_LENGTH else text[: MESSAGE_LENGTH - 3] + "..."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Written in Python on purpose: between two objects of a large text the event loop gets its turn.
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError(f"the key {_first_twice(pairs)!a} comes twice in one object")
    return made


def _first_twice(pairs: list[tuple[str, Any]]) -> str:
    """The first key that repeats an earlier one, cut short. One pass: a body may hold millions of keys."""
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return key if len(key) <= MESSAGE_LENGTH else key[: MESSAGE_LENGTH - 3] + "..."
        seen.add(key)
    raise AssertionError("no key comes twice")


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
