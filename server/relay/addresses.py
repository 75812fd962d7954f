"""The port that the relay needs to replace brokers' addresses in answers."""

from typing import Protocol

from common.address import Address


class AdvertisedAddresses(Protocol):
    """The addresses at which clients reach brokers through the relay."""

    def advertised(self, broker: int, actual: Address) -> Address | None:
        """Return the address for clients, or None when the broker has none.

        A broker seen for the first time may get one, which leads to its `actual` address.
        """
        ...
