"""Contexts: servers by name, with the files of their credentials. `reassignd context` keeps them.

The file is the user's, with mode 0600: `$XDG_CONFIG_HOME/reassignd/contexts.json`, by default in ~/.config.
It has the paths of token and certificate files, not their contents.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from common.durable_file import replace_file
from reassignd.config.errors import CommandError
from reassignd.config.setting_types import UNIX

MOST = 100
"""Contexts in the file."""

MAX_BYTES = 1_000_000
"""Size of a file that is read."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Context(NamedTuple):
    """A server. Paths are absolute."""

    url: str
    token_file: str | None = None
    ca_file: str | None = None
    certificate_file: str | None = None


class Contexts(NamedTuple):
    """The contexts by name, and the name of the one in use."""

    by_name: Mapping[str, Context] = {}
    current: str | None = None

    def named(self, name: str) -> Context:
        """Return the context. Raises CommandError."""
        if name not in self.by_name:
            known = ", ".join(sorted(self.by_name)) or "there are none yet"
            raise CommandError(f"there is no context '{name[:64]}'; `reassignd context list`: {known}")
        return self.by_name[name]


def contexts_file() -> Path:
    """Return the path of the user's file, which may not exist."""
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "reassignd" / "contexts.json"


def read_contexts() -> Contexts:
    """Return the contexts of the user. Raises CommandError for a file that cannot be read."""
    path = contexts_file()
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(MAX_BYTES))
        by_name = {name: _context(fields) for name, fields in found["contexts"].items()}
        current = found.get("current")
    except (FileNotFoundError, NotADirectoryError):
        return Contexts()
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise CommandError(f"{path} is not a file of contexts; remove it, or mend it") from error
    return Contexts(by_name, current if current in by_name else None)


def write_contexts(contexts: Contexts) -> None:
    """Replace the file of the user. Raises CommandError."""
    path = contexts_file()
    fields = {name: context._asdict() for name, context in sorted(contexts.by_name.items())}
    text = json.dumps({"current": contexts.current, "contexts": fields}, indent=2)
    try:
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        replace_file(path, text + "\n")
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from error


def check_context(name: str, url: str, count: int) -> None:
    """Raise CommandError for a name or a URL that no context can have, or for more than `MOST` contexts."""
    if not NAME.fullmatch(name):
        raise CommandError(f"'{name[:64]}' is not a name of a context: use letters, digits, '.', '_' and '-'")
    if not url.startswith(("http://", "https://", UNIX)):
        raise CommandError(f"--url '{url}': expected http://, https:// or unix:PATH")
    if count > MOST:
        raise CommandError(f"there are {MOST} contexts; remove one with `reassignd context remove`")


def _context(fields: Mapping[str, Any]) -> Context:
    return Context(**{name: str(value) for name, value in fields.items() if value is not None})
