r"""Escape control characters and invisible characters for terminals and logs: `\x1b` for ESC.

Texts from clients, such as client ids, can contain escape sequences that move the cursor or change colours and titles.
"""

import json


def printable(text: str) -> str:
    """Return the text on one line, with invisible characters other than the space as Python escapes."""
    return text if text.isprintable() else "".join(map(_visible, text))


def as_json(value: object) -> str:
    """Return compact JSON on one line, with invisible characters as JSON escapes."""
    return escaped(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def escaped(text: str) -> str:
    """Return the JSON text with invisible characters as JSON escapes."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _visible(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]
