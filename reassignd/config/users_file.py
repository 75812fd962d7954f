"""The file of `sasl.users.file`: names and passwords of Kafka clients of the embedded cluster."""

from collections.abc import Mapping
from pathlib import Path

from reassignd.config.secret_files import read_lines
from reassignd.errors import SettingError

MAX_LINES = 10_000


def read_users(path: Path) -> Mapping[str, str]:
    """Return the passwords by name. Raises SettingError that names the line; it never shows a password.

    A line is `NAME PASSWORD`. `#` begins a comment line. The password is what follows the first white space.
    """
    users: dict[str, str] = {}
    for number, line in read_lines(path, MAX_LINES).items():
        words = line.split(None, 1)
        if len(words) < 2:
            raise SettingError(f"{path}:{number}: expected NAME PASSWORD")
        if words[0] in users:
            raise SettingError(f"{path}:{number}: {words[0]} is in a line before")
        users[words[0]] = words[1].rstrip()
    return users
