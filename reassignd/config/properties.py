"""Parser of Java's `.properties` syntax (java.util.Properties.load), which Kafka's own files have.

It reads comments (`#`, `!`), continued lines, `=`, `:` or whitespace after the key, and backslash escapes.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from reassignd.config.errors import ConfigError

BLANK = " \t\f"
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.?))")
_ASSIGNMENT = re.compile(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(.*)")


class Property(NamedTuple):
    """One assignment, and the number of its first line."""

    key: str
    value: str
    line: int


def parse(text: str, path: Path) -> Iterator[Property]:
    """Yield all assignments in the order of the file. A key can occur more than once.

    Raises ConfigError, which names the line of `path`, for an escape that is half a character. Any other text
    is valid.
    """
    for number, line in _logical_lines(text):
        key, value = _ASSIGNMENT.findall(line)[0]
        try:
            yield Property(_unescape(key), _unescape(value), number)
        except UnicodeDecodeError as error:
            raise ConfigError(
                f"{path}:{number}: \\uD800 to \\uDFFF are halves of characters: write both, or the character"
                " itself"
            ) from error


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
    """Return the text that is meant. Raises UnicodeDecodeError for a surrogate without its other half."""

    def replace(match: re.Match[str]) -> str:
        code, single = match.groups()
        return chr(int(code, 16)) if code else ESCAPES.get(single, single)

    # Java's characters are those of UTF-16: two escapes can be one character here.
    return _ESCAPE.sub(replace, text).encode("utf-16", "surrogatepass").decode("utf-16")
