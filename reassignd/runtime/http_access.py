"""Who may use `/v1`, and how HTTP is served: local, or with something to show."""

import logging
import os
import ssl
from pathlib import Path
from typing import NamedTuple

from reassignd.config.config import EMBEDDED, Settings
from reassignd.config.secret_files import warn_if_open
from reassignd.config.setting_types import SocketPath
from reassignd.config.token import read_token
from reassignd.errors import CommandError
from server.api.access import Access
from server.http import peer_user
from server.http.same_site import Names, is_local

log = logging.getLogger(__name__)


class HttpAccess(NamedTuple):
    """What HTTP asks of whoever comes."""

    access: Access
    tls: ssl.SSLContext | None
    names: Names | None
    """See `server.http.same_site.from_this_site`."""


def http_access(settings: Settings) -> HttpAccess:
    """The door that the settings describe. Raises CommandError when it would stand open to others, or cannot be made."""
    place = settings.http_listener
    token = None
    if settings.http_token_file is not None:
        token = read_token(settings.http_token_file)
        warn_if_open(settings.http_token_file, "the token")
    certificates = settings.http_tls_client_ca_file is not None
    path = isinstance(place, SocketPath)
    local = isinstance(place, SocketPath) or is_local(place.host)
    if not local and token is None and not certificates:
        raise CommandError(
            f"http.listener is {place}, which others can reach: set http.token.file, or http.tls.client.ca.file"
            " and http.tls.certificate.file, or listen on 127.0.0.1 or unix:PATH"
        )
    tls = _tls(settings)
    if not local and tls is None:
        log.warning("http.listener is %s without TLS: others can read the token on its way", place)
    users = None if path or token is not None or certificates else _users(settings)
    names = None if path or tls is not None else Names(settings.http_allowed_hosts, addresses=not local)
    return HttpAccess(Access(token, certificates=certificates, users=users), tls, names)


def _users(settings: Settings) -> frozenset[int] | None:
    """Who may use `/v1` on loopback with nothing to show; None: everybody. Raises CommandError where the system does not know users."""
    if settings.backend == EMBEDDED:
        # Nothing but its own data is at stake, and its Kafka listeners are open to every user as well.
        return None
    if not peer_user.supported():
        raise CommandError(
            "this system does not say which user has connected on loopback: set http.token.file, or listen on unix:PATH"
            " (http.listener), or every user of this machine could move partitions"
        )
    return frozenset({os.geteuid(), 0})


def shown_to_clients(certificate: Path, key: Path | None, setting: str) -> ssl.SSLContext:
    """TLS of a listener with this chain and key. Raises CommandError, naming the settings, when they cannot be used."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise CommandError(f"cannot use the {setting} files: {error}") from error
    warn_if_open(certificate if key is None else key, "the private key")
    return context


def listener_tls(settings: Settings) -> ssl.SSLContext | None:
    """TLS of the listener for Kafka's clients, if it is configured. Raises CommandError."""
    certificate, key = settings.listener_tls_certificate_file, settings.listener_tls_key_file
    if certificate is None:
        if key is not None:
            raise CommandError("listener.tls.key.file is set without listener.tls.certificate.file")
        return None
    return shown_to_clients(certificate, key, "listener.tls")


def trust_in_own_listener(certificate: Path) -> ssl.SSLContext:
    """TLS by which embedded brokers reach our own listener: this certificate and no other, by whatever name it is reached."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(certificate)
    return context


def warn_of_plain_text(settings: Settings) -> None:
    """Say so in the log where others can read what passes a Kafka listener, or use it."""
    if settings.listener_tls_certificate_file is not None or is_local(settings.listener.host):
        return
    what = (
        "everybody who reaches it can use the embedded cluster"
        if settings.backend == EMBEDDED
        else "others can read what clients send"
    )
    log.warning(
        "the listener %s is not on loopback and has no TLS: %s; see listener.tls.certificate.file",
        settings.listener,
        what,
    )


def _tls(settings: Settings) -> ssl.SSLContext | None:
    certificate, key = settings.http_tls_certificate_file, settings.http_tls_key_file
    ca = settings.http_tls_client_ca_file
    if certificate is None:
        for name, path in (("http.tls.key.file", key), ("http.tls.client.ca.file", ca)):
            if path is not None:
                raise CommandError(f"{name} is set without http.tls.certificate.file")
        return None
    context = shown_to_clients(certificate, key, "http.tls")
    if ca is not None:
        try:
            context.load_verify_locations(ca)
        except OSError as error:
            raise CommandError(f"cannot use the http.tls files: {error}") from error
        # Asked for, and required by `Access` for /v1 only: /healthz, /readyz and /metrics stay open.
        context.verify_mode = ssl.CERT_OPTIONAL
    return context
