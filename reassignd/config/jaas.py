"""Parser of JAAS entries (Kafka: JaasConfig).

An entry is a login module with options, in `sasl.jaas.config` or in a JAAS file.
"""

import re
from typing import NamedTuple

_ENTRY = re.compile(r"\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(.*);\s*", re.DOTALL)
_OPTION = re.compile(
    r"""\s*([\w.-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"'=;]+))""", re.DOTALL
)
_QUOTED = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
_QUOTED_OR_COMMENT = re.compile(rf"({_QUOTED})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_SECTION = re.compile(rf"""([\w.-]+)\s*\{{((?:{_QUOTED}|[^"'{{}}])*)\}}""", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class Login(NamedTuple):
    """A login module: its class name without the package, and its options."""

    module: str
    options: dict[str, str]


def parse(text: str) -> Login:
    """Return the entry `MODULE required NAME="VALUE" …;`.

    Raises ValueError, whose text has no values: they are secret.
    """
    entry = _ENTRY.fullmatch(text)
    if entry is None:
        raise ValueError('expected MODULE required NAME="VALUE" ...; with the semicolon')
    module, rest = entry.groups()
    options: dict[str, str] = {}
    while rest.strip():
        option = _OPTION.match(rest)
        if option is None:
            raise ValueError(f'expected NAME="VALUE" after {", ".join(options) or module}')
        name, *values = option.groups()
        options[name] = _unescape(next(value for value in values if value is not None))
        rest = rest[option.end() :]
    return Login(module.rpartition(".")[2], options)


def section(text: str, name: str) -> str:
    """Return the content of the section `NAME { ... };` of a JAAS file.

    Raises ValueError if it is missing.
    """
    without_comments = _QUOTED_OR_COMMENT.sub(lambda match: match[1] or " ", text)
    for match in _SECTION.finditer(without_comments):
        if match[1] == name:
            return match[2]
    raise ValueError(f"there is no section {name} {{ ... }};")


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)
