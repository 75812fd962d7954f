"""The file of `sasl.users.file`: names and passwords of Kafka clients of the embedded cluster."""

import os
from collections.abc import Mapping
from pathlib import Path

from reassignd.errors import CommandError

MAX_LINES = 10_000


def read_users(path: Path) -> Mapping[str, str]:
    """Return the passwords by name. Raises CommandError that names the line; it never shows a password.

    A line is `NAME PASSWORD`. `#` begins a comment line. The password is what follows the first white space.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = os.strerror(error.errno or 0) if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CommandError(f"cannot read {path}: {reason}") from error
    if len(lines) > MAX_LINES:
        raise CommandError(f"{path} has more than {MAX_LINES:,} lines")
    users: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        words = line.split(None, 1)
        if not words or words[0].startswith("#"):
            continue
        if len(words) < 2:
            raise CommandError(f"{path}:{number}: expected NAME PASSWORD")
        if words[0] in users:
            raise CommandError(f"{path}:{number}: {words[0]} is in a line before")
        users[words[0]] = words[1].rstrip()
    return users
