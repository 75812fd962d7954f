"""The users of Cruise Control's API, in the form of Jetty's `HashLoginService`.

A line is `NAME: PASSWORD, ROLE`, with further roles after commas; `#` and `!` begin comments. Of several
roles the highest counts.
"""

from pathlib import Path

from reassignd.config.errors import SettingError
from reassignd.config.secret_files import read_lines
from server.cruisecontrol.shared.access import ClientRole, User

MOST_USERS = 1_000

_HASHES = ("MD5:", "CRYPT:", "OBF:")


def read_jetty_users(path: Path) -> list[User]:
    """Return the users of the file. Raises SettingError that names the line; it never shows a password."""
    users: dict[str, User] = {}
    for number, text in read_lines(path, MOST_USERS).items():
        if text.startswith("!"):
            continue
        try:
            user = _parse(text)
            if user.name in users:
                raise ValueError(f"{user.name} is in a line before")
        except ValueError as error:
            raise SettingError(f"{path}:{number}: {error}") from error
        users[user.name] = user
    return list(users.values())


def _parse(text: str) -> User:
    name, colon, rest = text.partition(":")
    password, *roles = [part.strip() for part in rest.split(",")]
    if not colon or not name.strip() or not password or not roles:
        raise ValueError("expected NAME: PASSWORD, ROLE")
    for prefix in _HASHES:
        if password.startswith(prefix):
            raise ValueError(f"passwords in the form {prefix} are not supported: write the password itself")
    unknown = [role for role in roles if role.upper() not in ClientRole.__members__]
    if unknown:
        raise ValueError(f"unknown role '{unknown[0][:40]}'; known: {', '.join(ClientRole.__members__)}")
    return User(name.strip(), password.encode(), max(ClientRole[role.upper()] for role in roles))
