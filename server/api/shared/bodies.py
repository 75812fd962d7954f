"""The bytes of all request bodies that are being received and parsed, which are bounded together."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from server.api.shared.errors import HttpError

MAX_HELD = 512 * 1024 * 1024
"""Maximum bytes of all bodies together. Parsing one needs several times its bytes, but only one is parsed at a time."""


class HeldBodies:
    """Counts the bytes of the bodies that are held now."""

    def __init__(self) -> None:
        self.size = 0

    @contextmanager
    def counted(self) -> Iterator[Callable[[int], None]]:
        """Yield a function to call with the number of received bytes of one body. They are released at the end.

        The function raises HttpError when all bodies together are too large.
        """
        held = 0

        def receive(size: int) -> None:
            nonlocal held
            held += size
            self.size += size
            if self.size > MAX_HELD:
                raise HttpError(
                    503, f"the bodies of all requests together are larger than {MAX_HELD} bytes; try again"
                )

        try:
            yield receive
        finally:
            self.size -= held
