"""Read the file with the bearer token."""

import os
from pathlib import Path

from reassignd.errors import SettingError


def read_token(path: Path) -> str:
    """Return the token. Raises SettingError if the file cannot be read or does not contain exactly one word."""
    try:
        words = path.read_text("ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        reason = os.strerror(error.errno or 0) if isinstance(error, OSError) else "it is not ASCII text"
        raise SettingError(f"cannot read the token in {path}: {reason}") from error
    if len(words) != 1 or not words[0].isprintable():
        raise SettingError(f"{path} must contain one token: a single line without spaces")
    return words[0]
