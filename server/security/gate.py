"""Who the clients of a listener are: by TLS certificate, by SASL login, or anonymous."""

import asyncio
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from struct import unpack

from common.tls import peer_certificate
from server.dispatch.authorizer import ANONYMOUS, AllowAll
from server.dispatch.router import Caller
from server.security.acl_authorizer import AclAuthorizer
from server.security.distinguished_names import distinguished_name
from server.security.login import Login, LoginRules
from server.security.principals import PrincipalMapping


@dataclass(frozen=True, slots=True)
class Gate:
    """The security of a listener. Without arguments everyone is anonymous.

    `authorizer` decides for each connection with the address of its client. With `login` clients log in by
    SASL. `mapping` names those with a certificate. `trusted` connections come from this process: they need
    neither.
    """

    authorizer: AclAuthorizer | None = None
    login: LoginRules | None = None
    mapping: PrincipalMapping | None = None
    trusted: bool = False

    def identified(self, caller: Caller, transport: asyncio.BaseTransport) -> Caller:
        """Return the caller of a new connection, with its principal as far as it is known and its rights.

        Raises NoMatchingRuleError for a certificate that no rule of `mapping` names, and ValueError for one that
        cannot be read.
        """
        if self.trusted:
            return caller._replace(rights=AllowAll())
        principal = ANONYMOUS
        certificate = peer_certificate(transport)
        if certificate and self.mapping is not None and self.login is None:
            principal = f"User:{self.mapping.name(distinguished_name(certificate))}"
        if self.authorizer is None:
            return caller._replace(principal=principal)
        host = java_address(caller.peer.rpartition(":")[0])
        return caller._replace(principal=principal, rights=self.authorizer.seen_from(host))

    def new_login(self) -> Login | None:
        """Return the login of a new connection; None if it needs none."""
        return None if self.login is None or self.trusted else Login(self.login)


def java_address(host: str) -> str:
    """Return the address as ACLs name it: as Java's `InetAddress.getHostAddress` writes it, without `::`."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return ":".join(f"{group:x}" for group in unpack(">8H", address.packed))


OPEN = Gate()
TRUSTED = Gate(trusted=True)
