r"""Text from clients, made safe for terminals and logs: invisible characters are escaped, for example `\x1b` for ESC.

A client id may have escape sequences that move the cursor, change colours or titles, or reverse the direction of text.
"""

import json


def printable(text: str) -> str:
    """Return the text on one line. Invisible characters other than blanks are written as in a Python string."""
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
