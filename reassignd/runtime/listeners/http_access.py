"""Access to HTTP: the users of `/v1`, the accepted host names, and the TLS context."""

import logging
import os
import ssl
from typing import NamedTuple

from reassignd.config.errors import SettingError
from reassignd.config.setting_types import SocketPath
from reassignd.config.settings import EMBEDDED, Settings
from reassignd.config.users import read_grants, single_token
from reassignd.config.watched_file import WatchedFile
from reassignd.runtime.listeners.tls import checked_server_context
from server.api.access import Access
from server.api.shared.roles import CurrentGrants, Grants
from server.http import peer_user
from server.http.allowed_hosts import AllowedHosts, is_local

log = logging.getLogger(__name__)

TLS_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


class HttpAccess(NamedTuple):
    """The conditions under which HTTP requests are served."""

    access: Access
    tls: ssl.SSLContext | None
    names: AllowedHosts | None
    """Host names under which HTTP may be requested; see `server.http.refusals.refuse_other_sites`."""


def http_access(settings: Settings) -> HttpAccess:
    """Return the configured access.

    Raises SettingError when it would permit every client, or cannot be set up.
    """
    listener = settings.http_listener
    grants = _grants(settings)
    certificates = settings.http_tls_client_ca_file is not None
    on_socket = isinstance(listener, SocketPath)
    local = isinstance(listener, SocketPath) or is_local(listener.host)
    if not local and grants is None and not certificates:
        raise SettingError(
            f"http.listener is {listener}, which others can reach: set http.token.file or http.access.file,"
            " or http.tls.client.ca.file and http.tls.certificate.file, or listen on 127.0.0.1 or unix:PATH"
        )
    tls = _tls(settings)
    if not local and tls is None:
        log.warning("http.listener is %s without TLS: others can read the token on its way", listener)
    users = None if on_socket or grants is not None or certificates else _users(settings)
    names = (
        None
        if on_socket or tls is not None
        else AllowedHosts(settings.http_allowed_hosts, addresses=not local)
    )
    return HttpAccess(Access(grants, certificates=certificates, users=users), tls, names)


def _grants(settings: Settings) -> CurrentGrants | None:
    """Return the grants of the configured files, which are read again when they change.

    The result is None without a file.
    """
    token_file, access_file = settings.http_token_file, settings.http_access_file
    token = None if token_file is None else WatchedFile(token_file, single_token, "the token")
    named = None if access_file is None else WatchedFile(access_file, read_grants, "the tokens")
    if named is None:
        return None if token is None else token.current
    if token is None:
        return named.current

    def both() -> Grants:
        single, several = token.current(), named.current()
        return Grants([*single.tokens, *several.tokens], several.certificates)

    return both


def _users(settings: Settings) -> frozenset[int] | None:
    """Return the ids of the users who may use `/v1` on loopback without a token; None for all users.

    Raises SettingError on a system that does not tell which user has connected.
    """
    if settings.backend == EMBEDDED:
        # The embedded cluster has simulated data only, and its Kafka listeners are open to every user as
        # well.
        return None
    if not peer_user.supported():
        raise SettingError(
            "this system does not say which user has connected on loopback: set http.token.file, or listen"
            " on unix:PATH (http.listener), or every user of this machine could move partitions"
        )
    return frozenset({os.geteuid(), 0})


def _tls(settings: Settings) -> ssl.SSLContext | None:
    certificate, key = settings.http_tls_certificate_file, settings.http_tls_key_file
    client_ca = settings.http_tls_client_ca_file
    if certificate is None:
        for name, path in (("http.tls.key.file", key), ("http.tls.client.ca.file", client_ca)):
            if path is not None:
                raise SettingError(f"{name} is set without http.tls.certificate.file")
        return None
    # Client certificates are optional in the handshake. `Access` requires them for /v1 only, so that probes
    # and scrapers, which have none, reach /healthz, /readyz and /metrics.
    lowest = TLS_VERSIONS[settings.http_tls_min_version]
    return checked_server_context("http.tls", certificate, key, client_ca, lowest)
