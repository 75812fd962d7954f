r"""Text of messages: numbers with their nouns, cut lists, missing extras, and text from clients made safe.

A client id may have escape sequences that move the cursor, change colours or titles, or reverse the direction
of text. In terminals and logs invisible characters are escaped, for example `\x1b` for ESC.
"""

import json
from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """Return `1 partition` or `2,000 partitions`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def some(things: Sequence[object], most: int = 5, separator: str = ", ") -> str:
    """Return `a, b, c and 2 more`: the first things as text, and how many are left out."""
    left = len(things) - most
    return separator.join(map(str, things[:most])) + (f" and {left:,} more" if left > 0 else "")


def missing(what: str, needed: str, extra: str) -> str:
    """Return the message that `what` needs `needed`, which the extra brings."""
    ways = f"`install.sh --extras {extra} WHEEL`, or `pip install 'WHEEL[{extra}]'`"
    return f"{what} needs {needed}: {ways}"


def printable(text: str) -> str:
    """Return the text on one line.

    Invisible characters other than blanks are written as in a Python string.
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def as_json(value: object) -> str:
    """Return compact JSON on one line, with escapes for invisible characters."""
    return escaped(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def escaped(text: str) -> str:
    """Return the JSON text with escapes for invisible characters."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _visible(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]
