"""Who may log in: clients of the embedded cluster's brokers, and of the API, with their roles.

`plain.sasl.jaas.config`, `oauthbearer.sasl.jaas.config` and the file of `sasl.users.file` have those of
brokers; the files of `http.access.file` and `http.token.file` those of the API. A line of the access file is
`NAME ROLE token TOKEN` or `NAME ROLE certificate SUBJECT`. `#` begins a comment line. A name may have several
lines with one role, for example while a token is replaced.
"""

import hmac
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from reassignd.config import jaas
from reassignd.config.errors import SettingError
from reassignd.config.secret_files import read_lines, read_token
from server.api.shared.roles import Grants, Identity, Role
from server.security.tokens import UnsecuredTokens

PLAIN_MODULE = "PlainLoginModule"
BEARER_MODULE = "OAuthBearerLoginModule"
USER_PREFIX = "user_"
OPTION_PREFIX = "unsecuredValidator"


def plain_users(text: str) -> Mapping[str, str]:
    """Return the passwords by name: the options `user_NAME`, as on Kafka's brokers. Raises SettingError."""
    options = _options("plain.sasl.jaas.config", text, PLAIN_MODULE)
    return {
        name.removeprefix(USER_PREFIX): value
        for name, value in options.items()
        if name.startswith(USER_PREFIX)
    }


def unsecured_tokens(text: str) -> UnsecuredTokens:
    """Return the validator with the options `unsecuredValidator…`. Raises SettingError."""
    key = "oauthbearer.sasl.jaas.config"
    options = _options(key, text, BEARER_MODULE)
    given = {
        name: options.get(f"{OPTION_PREFIX}{name}", "").strip()
        for name in ("PrincipalClaimName", "ScopeClaimName", "RequiredScope", "AllowableClockSkewMs")
    }
    skew = given["AllowableClockSkewMs"] or "0"
    if not (skew.isascii() and skew.isdecimal() and len(skew) <= 10):
        raise SettingError(f"{key}: {OPTION_PREFIX}AllowableClockSkewMs is not a number of milliseconds")
    return UnsecuredTokens(
        given["PrincipalClaimName"] or "sub",
        given["ScopeClaimName"] or "scope",
        tuple(given["RequiredScope"].split()),
        int(skew),
    )


def _options(key: str, text: str, module: str) -> Mapping[str, str]:
    """Return the options of the login module; none for an empty text."""
    if not text.strip():
        return {}
    try:
        login = jaas.parse(text)
    except ValueError as error:
        raise SettingError(f"{key}: {error}") from error
    if login.module != module:
        raise SettingError(f"{key}: expected {module}, not {login.module}")
    return login.options


MOST_USERS = 10_000


def read_users(path: Path) -> Mapping[str, str]:
    """Return the passwords by name. Raises SettingError that names the line; it never shows a password.

    A line is `NAME PASSWORD`. `#` begins a comment line. The password is what follows the first white space.
    """
    users: dict[str, str] = {}
    for number, line in read_lines(path, MOST_USERS).items():
        words = line.split(None, 1)
        if len(words) < 2:
            raise SettingError(f"{path}:{number}: expected NAME PASSWORD")
        if words[0] in users:
            raise SettingError(f"{path}:{number}: {words[0]} is in a line before")
        users[words[0]] = words[1].rstrip()
    return users


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")
_BLANKS = re.compile(r"(?P<escaped>\\.)|\s*(?P<comma>,)\s*|\s+$")
_ROLES = {role.label: role for role in Role}
_EXPECTED = "expected NAME ROLE token TOKEN, or NAME ROLE certificate SUBJECT"

MOST_GRANTS = 1_000


class _Line(NamedTuple):
    name: str
    role: Role
    kind: str
    value: str


def single_token(path: Path) -> Grants:
    """Return the grant of `http.token.file`: an operator. Raises SettingError."""
    return Grants([(read_token(path).encode(), Identity("User:token", Role.OPERATOR))])


def read_grants(path: Path) -> Grants:
    """Return the grants of an access file.

    Raises SettingError that names the line; it never shows a token.
    """
    reader = _Reader()
    for number, text in read_lines(path, MOST_GRANTS).items():
        try:
            reader.add(_parse(text))
        except ValueError as error:
            raise SettingError(f"{path}:{number}: {error}") from error
    return Grants(reader.tokens, reader.certificates)


class _Reader:
    """Collects the lines, and refuses those that contradict each other."""

    def __init__(self) -> None:
        self.tokens: list[tuple[bytes, Identity]] = []
        self.certificates: dict[str, Identity] = {}
        self._roles: dict[str, Role] = {}

    def add(self, line: _Line) -> None:
        """Add the line. Raises ValueError."""
        if self._roles.setdefault(line.name, line.role) is not line.role:
            raise ValueError(f"{line.name} has another role in a line before")
        identity = Identity(f"User:{line.name}", line.role)
        if line.kind == "certificate":
            if line.value in self.certificates:
                raise ValueError("the certificate is in a line before")
            self.certificates[line.value] = identity
            return
        token = line.value.encode()
        if any(hmac.compare_digest(token, known) for known, _ in self.tokens):
            raise ValueError("the token is in a line before")
        self.tokens.append((token, identity))


def _parse(text: str) -> _Line:
    words = text.split(None, 3)
    if len(words) < 4 or words[2] not in ("token", "certificate"):
        raise ValueError(_EXPECTED)
    name, role, kind, value = words
    if _NAME.fullmatch(name) is None:
        raise ValueError(
            "a name has up to 100 letters, digits and . _ @ -, and begins with a letter or digit"
        )
    if role not in _ROLES:
        raise ValueError(f"unknown role '{role[:40]}'; known: {', '.join(_ROLES)}")
    value = _subject(value) if kind == "certificate" else value.strip()
    if kind == "token" and not (value.isascii() and value.isprintable() and " " not in value):
        raise ValueError("a token is one word of ASCII characters")
    return _Line(name, _ROLES[role], kind, value)


def _subject(text: str) -> str:
    """Return the subject without the blanks that people write around commas.

    A comma or blank after a backslash belongs to a name (RFC 2253): without it, the line would mean another
    certificate.
    """
    return _BLANKS.sub(lambda match: match["escaped"] or match["comma"] or "", text)
