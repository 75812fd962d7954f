"""Open files: how many there may be, and how many connections that leaves room for."""

import logging

from reassignd.config.config import EMBEDDED, Settings
from reassignd.runtime.sockets import allow_files

log = logging.getLogger(__name__)

SPARE = 100
"""Beside connections: the store, files that are written, the libraries."""

LINKS = 3
"""For each port: the one that listens, and our own connections to the broker behind it."""

FEW = 0.9
"""A smaller part of the connections that were configured is worth a warning."""

FEWEST = 10
"""Connections of either kind that are taken in any case."""


def share(settings: Settings) -> Settings:
    """Raise the process's limit of open files; where it stays too low, the settings with fewer connections.

    A Kafka client takes one descriptor at the embedded cluster, and two where it is relayed. So clients never take
    those that records and brokers need.
    """
    each = 1 if settings.backend == EMBEDDED else 2
    ours = SPARE + LINKS * settings.ports
    clients, http = settings.max_connections, settings.http_max_connections
    wanted = ours + each * clients + http
    allowed = allow_files(wanted)
    if allowed >= wanted:
        return settings
    left = allowed - ours
    http = min(http, max(left // 4, FEWEST))
    clients = min(clients, max((left - http) // each, FEWEST))
    # The default of connections is more than most gateways see: a tenth less is worth no warning at each start.
    few = clients < settings.max_connections * FEW
    log.log(
        logging.WARNING if few else logging.INFO,
        "%d open files are allowed, %d may be wanted: %d connections are taken for Kafka, %d for HTTP; raise `ulimit -n`",
        allowed,
        wanted,
        clients,
        http,
    )
    return Settings({**settings.values, "max.connections": clients, "http.max.connections": http})
