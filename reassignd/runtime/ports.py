"""Where the brokers listen: one port each, the same one whenever a broker starts again."""

from common.address import Address
from reassignd.runtime.sockets import refused
from server.connections.listener import Listeners
from server.ports import BrokerPort


class Port:
    """A broker's open port (implements `backends.embedded.cluster.Listener`). `host` is what clients are told."""

    def __init__(self, ports: "BrokerPorts", broker: int, host: str, port: int) -> None:
        self._ports, self._broker = ports, broker
        self.host, self.port = host, port

    async def close(self) -> None:
        """Stop listening and cut the connections."""
        await self._ports.close(self._broker)


class BrokerPorts:
    """Opens ports from `first` on, in order of broker id from 1; free ones when its port is 0."""

    def __init__(self, listeners: Listeners[BrokerPort], first: Address, advertised_host: str) -> None:
        self._listeners, self._first = listeners, first
        self._host = advertised_host or first.host
        self._chosen: dict[int, int] = {}
        self._open: set[int] = set()

    @property
    def addresses(self) -> list[Address]:
        """What clients can connect to while all brokers run."""
        return [Address(self._host, port) for _, port in sorted(self._chosen.items())]

    async def open(self, broker: BrokerPort) -> Port:
        """Listen for the broker. Raises CommandError when its port cannot be had."""
        wanted = self._chosen.get(broker.id, self._first.port and self._first.port + broker.id - 1)
        address = Address(self._first.host, wanted)
        try:
            _, port = await self._listeners.open(broker, address.host, address.port)
        except OSError as error:
            raise refused(error, address, "listener") from error
        self._chosen[broker.id] = port
        self._open.add(broker.id)
        return Port(self, broker.id, self._host, port)

    async def close(self, broker: int) -> None:
        """Stop listening for the broker, unless `close_all` did so."""
        if broker in self._open:
            self._open.remove(broker)
            await self._listeners.close(broker)

    async def close_all(self, grace_seconds: float) -> None:
        """Stop listening, and give answers under way that long."""
        self._open.clear()
        await self._listeners.close_all(grace_seconds)
