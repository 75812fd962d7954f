"""`serve --check-config`: check the settings and the files that they name, without starting anything."""

from collections.abc import Iterator, Sequence

from reassignd.config import command_config
from reassignd.config.config import KEYS, Assignment, Settings
from reassignd.config.initial_limits import config_of
from reassignd.runtime.listeners.http_access import http_access
from reassignd.runtime.listeners.listener_security import listener_tls
from reassignd.tracing.setting import check_traces

SECRET = ("password", "secret")


def check(settings: Settings) -> None:
    """Read the certificates, tokens and client properties. Raises ConfigError or CommandError for the first that is wrong."""
    http_access(settings)
    listener_tls(settings)
    check_traces(settings)
    if settings.upstream_command_config is not None:
        command_config.load(settings.upstream_command_config)


def described(assignments: Sequence[Assignment]) -> Iterator[str]:
    """Yield a line for each setting that is not a default: its value and where it comes from."""
    last = {config_of(each.key): each for each in assignments}
    for key in sorted(last):
        _, value, source = last[key]
        kind = "" if key in KEYS else ", until it is changed while the server runs"
        shown = "(hidden)" if any(word in key for word in SECRET) and not key.endswith(".file") else value
        yield f"{key}={shown}  ({source}{kind})"
