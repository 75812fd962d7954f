"""Strict parser of JSON from users, and values in error messages.

Python's parser calls `_object` at the end of each object, where the interpreter can switch to the event loop:
with a plan of 60 MB other requests wait for milliseconds. msgspec is faster, but holds the interpreter's lock
for the whole second that it takes, and so does the transfer of the value from another process.
"""

import json
import re
import sys
from collections.abc import Iterator
from typing import NoReturn, Union

from common.lists import clear_lists
from common.plan_errors import PlanError

Json = Union[dict[str, "Json"], list["Json"], str, int, float, bool, None]  # noqa: UP007 (recursive)
"""A JSON value."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape of one half of a surrogate pair. A half alone cannot be encoded."""

MAX_KEYS = 100_000
"""Maximum number of keys in an object. It takes some milliseconds to make one with so many."""

MESSAGE_LENGTH = 40
"""Maximum length of a value in an error message."""

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
"""A string, perhaps without its end."""

ROW_LENGTH = 1024 * 1024
"""Maximum number of characters from the end of one object to the end of the next.

The interpreter can switch to the event loop only where an object ends, see `_object`.
"""


def parse(data: bytes) -> Json:
    """Return the JSON value.

    Raises PlanError for invalid JSON, a repeated key, text that is not Unicode, an integer with thousands of
    digits, or a row that is longer than `ROW_LENGTH`.
    """
    try:
        text = data.decode(json.detect_encoding(data))
        _check_rows(text)
        result = _object_with_surrogates if _has_surrogates(text) else _object
        value: Json = json.loads(text, object_pairs_hook=result, parse_constant=_constant)
        if result is not _object:
            _encode_texts(value)
    except RecursionError as error:
        raise PlanError("not JSON that can be read: nested too deep") from error
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        raise PlanError(f"not JSON: a text has {half}, half of a surrogate pair") from error
    except UnicodeDecodeError as error:
        raise PlanError(f"not JSON: byte {error.start} is not {error.encoding.upper()} text") from error
    except json.JSONDecodeError as error:
        raise PlanError(f"not JSON: {error}") from error
    except ValueError as error:
        # The only other error of the parser: Python does not convert longer texts to integers.
        limit = sys.get_int_max_str_digits()
        raise PlanError(f"not JSON that can be read: an integer has more than {limit} digits") from error
    return value


def abbreviated(value: object) -> str:
    """Return the value as JSON for an error message, at most `MESSAGE_LENGTH` characters long.

    The time does not depend on the size of the value.
    """
    text = ""
    for piece in _pieces(value):
        text += piece
        if len(text) > MESSAGE_LENGTH:
            return text[: MESSAGE_LENGTH - 3] + "..."
    return text


def _pieces(value: object) -> Iterator[str]:
    """Yield the beginning of the value as JSON: at least one character for each element and each level."""
    if isinstance(value, list | tuple | dict):
        left, right = "{}" if isinstance(value, dict) else "[]"
        yield left
        for number, element in enumerate(value):
            yield ", " if number else ""
            if isinstance(value, dict):
                yield from _pieces(element)
                yield ": "
            yield from _pieces(value[element] if isinstance(value, dict) else element)
        yield right
    else:
        cut = value[: MESSAGE_LENGTH + 1] if isinstance(value, str) else value
        yield json.dumps(cut, ensure_ascii=False)


def _check_rows(text: str) -> None:
    """Raise PlanError if a part of the text without the end of an object is longer than `ROW_LENGTH`."""
    start = 0
    while len(text) - start > ROW_LENGTH:
        end = _last_brace(text[start : start + ROW_LENGTH])
        if end < 0:
            number = text.count("}", 0, start)
            raise PlanError(
                f"row {number} (counted from 0) is longer than {ROW_LENGTH} characters; a topic's"
                " name has at most 249, and 'replicas' lists each broker once"
            )
        start += end + 1


def _last_brace(part: str) -> int:
    """Return the place of the last brace that ends an object; -1 if there is none.

    The part begins outside of strings.
    """
    end = part.rfind("}")
    before = part[: end + 1]
    if "\\" in before:
        before = before.replace("\\\\", "").replace('\\"', "")
    if before.count('"') % 2:
        # The brace is in a string. No topic's name has one, so this may take longer.
        end = _STRING.sub(lambda found: " " * len(found[0]), part).rfind("}")
    return end


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    # A Python function on purpose: between two objects of a large text the interpreter can switch to the
    # event loop.
    if len(pairs) > MAX_KEYS:
        clear_lists(pairs)
        raise PlanError(f"not JSON that can be read: an object has more than {MAX_KEYS} keys")
    result = dict(pairs)
    if len(result) != len(pairs):
        raise PlanError(f"not JSON: the key {_first_twice(pairs)!a} comes twice in one object")
    return result


def _has_surrogates(text: str) -> bool:
    # A search holds the interpreter's lock.
    return any(_SURROGATE.search(text, at, at + ROW_LENGTH + 4) for at in range(0, len(text), ROW_LENGTH))


def _object_with_surrogates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = _object(pairs)
    _encode_texts([*result, *result.values()])
    return result


def _encode_texts(value: object) -> None:
    """Raise UnicodeEncodeError if the value, or a list in it, has text with half of a surrogate pair.

    Does not examine objects: each has been examined when it was made.
    """
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, list):
        for element in value:
            _encode_texts(element)


def _first_twice(pairs: list[tuple[str, Json]]) -> str:
    """Return the first repeated key, truncated. One pass: an object may have millions of keys."""
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return key if len(key) <= MESSAGE_LENGTH else key[: MESSAGE_LENGTH - 3] + "..."
        seen.add(key)
    raise AssertionError("no key comes twice")


def _constant(name: str) -> NoReturn:
    raise PlanError(f"not JSON: {name} is no JSON number")
