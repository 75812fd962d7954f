"""How this instance and the others reach each other.

The switch, their listener, links, and the proxy of HTTP.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from ssl import SSLContext

from common.address import Address
from common.clock import Clock, wall_clock
from common.off_loop import OffLoop
from reassignd.config.errors import SettingError
from reassignd.config.secret_files import warn_if_open
from reassignd.config.setting_types import WILDCARDS, SocketPath
from reassignd.config.settings import Settings
from reassignd.runtime.listeners.sockets import refused
from reassignd.runtime.listeners.tls import PinnedCertificate, checked_server_context
from server.api.other_instances import IdentitySigner
from server.api.proxy import ActiveProxy
from server.dispatch.router import Refuse
from server.instances.handshake import SHORTEST_SECRET, InstanceIdentity
from server.instances.links import InstanceLinks
from server.instances.listener import InstanceEndpoint, InstanceListener, OnStatus
from server.instances.stream import ClientTls, InstanceSecurity
from server.instances.switch import Switch

log = logging.getLogger(__name__)


class InstanceNetwork:
    """Opened before the instance can be active.

    `cluster_id` returns the id of the upstream when it is known.
    """

    def __init__(
        self,
        settings: Settings,
        instance: str,
        cluster_id: Callable[[], str],
        refuse: Refuse,
        clock: Clock,
        off_loop: OffLoop,
        *,
        status: Callable[[], bytes] = bytes,
        on_status: OnStatus = lambda _instance, _status: None,
    ) -> None:
        self._settings = settings
        secret = read_secret(settings.gateway_peer_secret_file)
        server_tls, client_tls = _tls(
            settings.gateway_peer_tls_certificate_file, settings.gateway_peer_tls_key_file
        )
        security = InstanceSecurity(
            lambda: InstanceIdentity(instance, cluster_id()), secret, server_tls, client_tls
        )
        self._links = InstanceLinks(security, clock, status)
        self.switch = Switch(self._links, refuse, clock, off_loop)
        self._listener = InstanceListener(InstanceEndpoint(self.switch), security, clock, on_status)
        http = settings.http_tls_certificate_file
        pinned = None if http is None else PinnedCertificate("http.tls", http).context
        self.proxy = ActiveProxy(self.switch, IdentitySigner(instance, secret, wall_clock), pinned)

    async def open(self) -> Address:
        """Listen; return the address for the other instances. Raises CommandError."""
        listener = self._settings.gateway_peer_listener
        try:
            opened = await self._listener.open(listener)
        except OSError as error:
            raise refused(error, listener, "gateway.peer.listener") from error
        return Address(self._settings.gateway_peer_host or opened.host, opened.port)

    async def close(self) -> None:
        """Close the listener and all connections."""
        await self._listener.close()
        await self._links.close()
        await self.proxy.close()


def http_url(settings: Settings) -> str:
    """Return the URL of this instance's HTTP for the others; empty if they cannot reach it."""
    listener = settings.http_listener
    if settings.gateway_peer_url:
        return settings.gateway_peer_url.rstrip("/")
    if isinstance(listener, SocketPath) or not listener.port:
        return ""
    if listener.host in WILDCARDS:
        listener = Address(settings.gateway_peer_host or settings.gateway_peer_listener.host, listener.port)
    return f"{'https' if settings.http_tls_certificate_file else 'http'}://{listener}"


def claimed_address(text: str) -> Address | None:
    """Return the address in a claim; None if it is none."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        return None
    return Address(host.removeprefix("[").removesuffix("]"), int(port))


def read_secret(path: Path | None) -> bytes:
    """Return the secret of the instances. Raises SettingError."""
    if path is None:
        raise SettingError(
            "state=topic needs gateway.peer.secret.file, which is the same on all instances: "
            "`openssl rand -hex 32` makes a secret"
        )
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        raise SettingError(f"cannot read the secret in {path}: {error.strerror}") from error
    if len(secret) < SHORTEST_SECRET:
        raise SettingError(
            f"the secret in {path} (gateway.peer.secret.file) has {len(secret)} bytes; at least"
            f" {SHORTEST_SECRET} are needed"
        )
    warn_if_open(path, "the secret of the instances")
    return secret


def _tls(certificate: Path | None, key: Path | None) -> tuple[SSLContext | None, ClientTls | None]:
    """Return the context of the listener, and that of links; all instances share the certificate.

    Raises SettingError.
    """
    if certificate is None:
        return None, None
    setting = "gateway.peer.tls"
    server = checked_server_context(setting, certificate, key)
    return server, PinnedCertificate(setting, certificate).context
