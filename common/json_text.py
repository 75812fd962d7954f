"""Strict parser of JSON from users, and values in error messages."""

import json
import re
from typing import Any

from common.plan_errors import PlanError

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape of one half of a surrogate pair. A half alone cannot be encoded."""

MESSAGE_LENGTH = 40
"""Maximum length of a value in an error message."""


def parse(data: bytes) -> Any:
    """Return the JSON value. Raises PlanError for invalid JSON, a repeated key, or text that is not Unicode."""
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
    # A Python function on purpose: between two objects of a large text the interpreter can switch to the event loop.
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError(f"the key {_first_twice(pairs)!a} comes twice in one object")
    return made


def _first_twice(pairs: list[tuple[str, Any]]) -> str:
    """Return the first repeated key, truncated. One pass: an object may have millions of keys."""
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return key if len(key) <= MESSAGE_LENGTH else key[: MESSAGE_LENGTH - 3] + "..."
        seen.add(key)
    raise AssertionError("no key comes twice")


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
