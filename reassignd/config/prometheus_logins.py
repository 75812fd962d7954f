"""The logins of Prometheus servers, in the file of `prometheus.credentials.file`.

A line is `URL basic USER:PASSWORD` or `URL bearer TOKEN`; `#` begins a comment line. The file tells for which
server each login is: whoever may change the URL in the configs could send it anywhere otherwise.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path

from reassignd.config.errors import SettingError
from reassignd.config.secret_files import read_lines
from reassignd.config.watched_file import WatchedFile

Login = Callable[[str], str]
"""Returns the header with the login for a URL, empty for none."""

MOST_LOGINS = 1_000
_EXPECTED = "expected URL basic USER:PASSWORD, or URL bearer TOKEN"


def prometheus_login(path: Path | None) -> Login:
    """Return what reads the file, and reads it again when it has changed. Raises SettingError."""
    if path is None:
        return lambda _: ""
    file = WatchedFile(path, read_logins, "the logins of Prometheus")
    return lambda url: file.current().get(url.rstrip("/"), "")


def read_logins(path: Path) -> Mapping[str, str]:
    """Return the header of each URL. Raises SettingError that names the line; it never shows a secret."""
    logins: dict[str, str] = {}
    for number, line in read_lines(path, MOST_LOGINS).items():
        words = line.split(None, 2)
        if len(words) < 3:
            raise SettingError(f"{path}:{number}: {_EXPECTED}")
        url, kind, secret = words[0].rstrip("/"), words[1], words[2].rstrip()
        if url in logins:
            raise SettingError(f"{path}:{number}: {url} is in a line before")
        if kind == "basic" and ":" in secret:
            logins[url] = f"Basic {b64encode(secret.encode()).decode()}"
        elif kind == "bearer" and secret.isascii() and secret.isprintable() and " " not in secret:
            logins[url] = f"Bearer {secret}"
        else:
            raise SettingError(f"{path}:{number}: {_EXPECTED}")
    return logins
