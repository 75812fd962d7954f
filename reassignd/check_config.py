"""`serve --check-config`: check the settings and the files that they name, without starting anything."""

import re
from collections.abc import Iterator, Sequence

from controller import modes
from controller.state.state import State
from reassignd.config import command_config
from reassignd.config.keys import TOPIC
from reassignd.config.prometheus_logins import prometheus_login
from reassignd.config.settings import EMBEDDED, KEYS, ZOOKEEPER, Settings, config_of
from reassignd.config.sources import Assignment
from reassignd.runtime.instances.network import read_secret
from reassignd.runtime.listeners.cruise_control import cruise_control_access, cruise_control_options
from reassignd.runtime.listeners.http_access import http_access
from reassignd.runtime.listeners.listener_gate import listener_security
from reassignd.runtime.listeners.tls import listener_tls
from reassignd.runtime.listeners.zookeeper import configured_listeners
from reassignd.tracing.setting import check_traces

HIDDEN = "(hidden)"

_SECRET_PART = re.compile(r"(?<=;token=)[^;]+|(?<=://)[^/@]+(?=@)")
"""What a URL may carry: the token of a Spark Connect server, or a user with a password."""


def check(settings: Settings) -> None:
    """Read the certificates, tokens and client properties.

    Raises ConfigError or CommandError for the first that is wrong.
    """
    access = http_access(settings).access
    if settings.cruisecontrol_api:
        cruise_control_options(settings)
        cruise_control_access(settings, access)
    _check_listeners(settings)
    check_traces(settings)
    prometheus_login(settings.prometheus_credentials_file)
    if settings.upstream_command_config is not None:
        command_config.load(settings.upstream_command_config)


def _check_listeners(settings: Settings) -> None:
    if settings.backend == EMBEDDED:
        listener_security(settings, State(mode=modes.EMBEDDED))
        return
    tls = listener_tls(settings)
    if settings.backend == ZOOKEEPER:
        configured_listeners(settings, tls)
    elif settings.state == TOPIC:
        read_secret(settings.gateway_peer_secret_file)


def described(assignments: Sequence[Assignment]) -> Iterator[str]:
    """Yield a line for each setting that is not a default: its value and where it comes from."""
    last = {config_of(each.key): each for each in assignments}
    for key in sorted(last):
        _, value, source = last[key]
        kind = "" if key in KEYS else ", until it is changed while the server runs"
        shown = HIDDEN if key in KEYS and KEYS[key].secret else _SECRET_PART.sub(HIDDEN, value)
        yield f"{key}={shown}  ({source}{kind})"
