"""The ports of embedded brokers: one for each broker, which keeps it when it restarts."""

import socket

from common.address import Address
from reassignd.runtime.listeners.sockets import refused
from server.connections.listener import Listeners, Make
from server.dispatch.context import BrokerPort


class Port:
    """The open port of a broker. Implements `backends.embedded.cluster.Listener`. `host` is advertised to clients."""

    def __init__(self, ports: "BrokerPorts", broker: int, host: str, port: int) -> None:
        self._ports, self._broker = ports, broker
        self.host, self.port = host, port

    async def close(self) -> None:
        """Close the port and its connections."""
        await self._ports.close(self._broker)


class BrokerPorts:
    """Opens the ports: broker 1 gets `first`, and each next broker the next port. With port 0 each gets a free one."""

    def __init__(self, listeners: Listeners[BrokerPort], first: Address, advertised_host: str) -> None:
        self._listeners, self._first = listeners, first
        self._host = advertised_host or first.host
        self._chosen: dict[int, int] = {}
        self._open: set[int] = set()
        self._brokers: dict[int, BrokerPort] = {}
        """By port."""

    def serve(self, port: int, own_end: socket.socket, make: Make[BrokerPort]) -> None:
        """Serve a socket of this process as a connection to the broker with this port.

        Raises ConnectionRefusedError.
        """
        if port not in self._brokers:
            raise ConnectionRefusedError(f"there is no broker with port {port}")
        self._listeners.serve(self._brokers[port], own_end, make)

    @property
    def addresses(self) -> list[Address]:
        """Where clients connect, while all brokers run."""
        return [Address(self._host, port) for _, port in sorted(self._chosen.items())]

    async def open(self, broker: BrokerPort) -> Port:
        """Open the broker's port. Raises CommandError when it is in use."""
        wanted = self._chosen.get(broker.id, self._first.port and self._first.port + broker.id - 1)
        address = Address(self._first.host, wanted)
        try:
            _, port = await self._listeners.open(broker, address.host, address.port)
        except OSError as error:
            raise refused(error, address, "listener") from error
        self._chosen[broker.id] = port
        self._brokers[port] = broker
        self._open.add(broker.id)
        return Port(self, broker.id, self._host, port)

    async def close(self, broker: int) -> None:
        """Close the broker's port, unless `close_all` has done so."""
        if broker in self._open:
            self._open.remove(broker)
            await self._listeners.close(broker)

    async def close_all(self, grace_seconds: float) -> None:
        """Close all ports. Requests in progress are finished within the time."""
        self._open.clear()
        await self._listeners.close_all(grace_seconds)
