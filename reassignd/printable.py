r"""Texts of others on a terminal and in a log: what cannot be seen is written out, as `\x1b` for ESC.

Client ids and the like may hold escape sequences that move the cursor, change colours or titles, or turn text around.
"""

import json


def printable(text: str) -> str:
    """The text on one line, with every invisible character but the blank as Python writes it."""
    return text if text.isprintable() else "".join(map(_visible, text))


def as_json(value: object) -> str:
    """JSON on one line, the same for the same value; what is invisible is escaped as JSON has it."""
    return escaped(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def escaped(text: str) -> str:
    """The JSON text with escapes for what is invisible."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _visible(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]
