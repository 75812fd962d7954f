"""Files with secrets: their lines, their mode, and the token in one."""

import logging
import os
import stat
from pathlib import Path

from reassignd.config.errors import SettingError

log = logging.getLogger(__name__)


def warn_if_open(path: Path, what: str) -> None:
    """Log a warning if other users can read the file, which contains `what`.

    A missing file is ignored here.
    """
    try:
        found = path.stat()
    except OSError:
        return
    readers = other_readers(found)
    if readers is not None:
        log.warning("%s can read %s in %s; run chmod 600 on the file", readers, what, path)


def other_readers(found: os.stat_result) -> str | None:
    """Return who else can read the file, or None.

    A file of root that this process reads by its group is how Kubernetes mounts secrets: the process cannot
    be its owner.
    """
    if found.st_mode & stat.S_IROTH:
        return "other users"
    mounted = found.st_uid == 0 != os.geteuid() and found.st_gid in {os.getegid(), *os.getgroups()}
    if found.st_mode & stat.S_IRGRP and not mounted:
        return f"the group {found.st_gid}"
    return None


def read_lines(path: Path, most: int) -> dict[int, str]:
    """Return the lines by number, without empty lines and comments, which begin with `#`.

    Raises SettingError when the file cannot be read or has more than `most` lines.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = os.strerror(error.errno or 0) if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SettingError(f"cannot read {path}: {reason}") from error
    if len(lines) > most:
        raise SettingError(f"{path} has more than {most:,} lines")
    return {
        number: line
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    }


def read_token(path: Path) -> str:
    """Return the token.

    Raises SettingError if the file cannot be read or does not contain exactly one word.
    """
    try:
        words = path.read_text("ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        reason = os.strerror(error.errno or 0) if isinstance(error, OSError) else "it is not ASCII text"
        raise SettingError(f"cannot read the token in {path}: {reason}") from error
    if len(words) != 1 or not words[0].isprintable():
        raise SettingError(f"{path} must contain one token: a single line without spaces")
    return words[0]
