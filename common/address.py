"""Network addresses."""

from typing import NamedTuple


class Address(NamedTuple):
    """A host and a TCP port. Port 0 stands for any free port where a listener is opened."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `host:port`, with an IPv6 host in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
