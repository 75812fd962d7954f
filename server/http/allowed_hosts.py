"""The Host headers under which HTTP may be requested."""

import re
from collections.abc import Collection
from ipaddress import ip_address

HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9][A-Za-z0-9._-]{0,252}))(?::[0-9]{1,5})?")
"""A name, an IPv4 address, or an IPv6 address in brackets, with or without a port: less than RFC 3986
allows."""


class AllowedHosts:
    """The accepted Host headers: loopback, the names in `allowed`, and with `addresses` every IP address.

    Addresses are safe from DNS rebinding: the browser connects to the address in the user's URL.
    """

    def __init__(self, allowed: Collection[str] = (), *, addresses: bool = False) -> None:
        self._allowed = {"localhost", *(name.lower() for name in allowed)}
        self._addresses = addresses

    def accepts(self, host: str) -> bool:
        """Return whether the Host header is accepted."""
        match = HOST.fullmatch(host)
        if match is None:
            return False
        name = (match[1] or match[2]).lower()
        if name in self._allowed:
            return True
        try:
            address = ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or (self._addresses and not address.is_unspecified)


def is_local(host: str) -> bool:
    """Return whether the name or address always means this machine."""
    return AllowedHosts().accepts(f"[{host}]" if ":" in host else host)
