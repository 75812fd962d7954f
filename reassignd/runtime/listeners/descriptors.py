"""The limit of open files, and the numbers of connections that it allows."""

import logging

from reassignd.config.config import EMBEDDED, Settings
from reassignd.runtime.listeners.sockets import allow_files

log = logging.getLogger(__name__)

SPARE = 100
"""Descriptors that are no connections: the store, log files, the libraries."""

LINKS = 3
"""Descriptors for each port: its listener, and our own connections to the broker that it leads to."""

FEW = 0.9
"""Below this fraction of the configured connections a warning is logged."""

FEWEST = 10
"""The least number of connections of either kind."""


def share(settings: Settings) -> Settings:
    """Raise the process's limit of open files. If it stays too low, return settings with fewer connections.

    A connection to an embedded broker needs one descriptor; a relayed connection needs two. With fewer connections, clients
    cannot use up the descriptors that records and brokers need.
    """
    per_client = 1 if settings.backend == EMBEDDED else 2
    reserved = SPARE + LINKS * settings.ports
    clients, http = settings.max_connections, settings.http_max_connections
    wanted = reserved + per_client * clients + http
    allowed = allow_files(wanted)
    if allowed >= wanted:
        return settings
    left = allowed - reserved
    http = min(http, max(left // 4, FEWEST))
    clients = min(clients, max((left - http) // per_client, FEWEST))
    # The default is more than most gateways need, so a small reduction deserves no warning at each start.
    few = clients < settings.max_connections * FEW
    log.log(
        logging.WARNING if few else logging.INFO,
        "%d open files are allowed, %d may be needed: %d connections are accepted for Kafka, %d for HTTP; raise `ulimit -n`",
        allowed,
        wanted,
        clients,
        http,
    )
    return Settings({**settings.values, "max.connections": clients, "http.max.connections": http})
