"""Parser of Java's `.properties` syntax (java.util.Properties.load), which Kafka's own files have.

Comments (`#`, `!`), continued lines, `=`, `:` or whitespace after the key, and backslash escapes.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

BLANK = " \t\f"
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.?))")
_ASSIGNMENT = re.compile(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(.*)")


class Property(NamedTuple):
    """One assignment, and the number of its first line."""

    key: str
    value: str
    line: int


def parse(text: str) -> Iterator[Property]:
    """Yield all assignments in the order of the file. A key can occur more than once. Any text is valid."""
    for number, line in _logical_lines(text):
        key, value = _ASSIGNMENT.findall(line)[0]
        yield Property(_unescape(key), _unescape(value), number)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line) without comments and empty lines; continued lines are joined."""
    pending: str | None = None
    start = 0
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = raw.lstrip(BLANK)
        if pending is None:
            if not line or line[0] in "#!":
                continue
            pending, start = "", number
        continued = _trailing_backslashes(line) % 2 == 1
        pending += line[:-1] if continued else line
        if not continued:
            yield start, pending
            pending = None
    if pending is not None:
        yield start, pending


def _trailing_backslashes(line: str) -> int:
    return len(line) - len(line.rstrip("\\"))


def _unescape(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        code, single = match.groups()
        return chr(int(code, 16)) if code else ESCAPES.get(single, single)

    return _ESCAPE.sub(replace, text)
