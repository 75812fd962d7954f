"""Who leads which rows, and the requests for their offsets, which stay the same as long as leaders do."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from backends.load.layout import Layout
from backends.load.wire import EARLIEST, EARLIEST_LOCAL, LATEST, LOCAL_VERSION, Ints, offsets_request

CHUNK = 5_000
"""Partitions in a request for offsets."""

_NONE = np.zeros(0, np.int64)

Bodies = list[tuple[bytes, bytes]]
"""Of each chunk, the request for the first offsets on the leader's disks and that for the last ones."""


class Leaders:
    """The leaders of the rows of a layout."""

    def __init__(self) -> None:
        self.layout = Layout()
        self.of: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._led: dict[int, Ints] = {}
        self._bodies: dict[int, tuple[int, Bodies]] = {}
        """By broker, with their version."""

    def update(self, layout: Layout, leaders: npt.NDArray[np.int32]) -> None:
        """Take other leaders. What a broker leads is the same array as long as nothing of it changes."""
        if layout is not self.layout:
            self._bodies.clear()
            self._led.clear()
        elif np.array_equal(leaders, self.of):
            return
        order = np.argsort(leaders, kind="stable")
        brokers, starts = np.unique(leaders[order], return_index=True)
        # Even nothing is split into one part.
        led = dict(zip(brokers.tolist(), np.split(order, starts[1:]) if len(order) else [], strict=True))
        for broker in self._bodies.keys() | led.keys():
            before, now = self._led.get(broker), led.get(broker)
            if before is None or now is None or not np.array_equal(before, now):
                self._bodies.pop(broker, None)
            else:
                led[broker] = before
        self.layout, self.of, self._led = layout, leaders, led

    def led(self, broker: int) -> Ints:
        """Return the rows that a broker leads."""
        return self._led.get(broker, _NONE)

    def chunks(self, broker: int) -> range:
        """Return the numbers of a broker's requests for offsets."""
        return range(-(-len(self.led(broker)) // CHUNK))

    def chunk(self, broker: int, chunk: int) -> Ints:
        """Return the rows of a request for offsets."""
        return self.led(broker)[chunk * CHUNK : (chunk + 1) * CHUNK]

    def body(self, broker: int, chunk: int, is_first: bool, version: int) -> bytes:
        """Return the request for offsets of a chunk: the first ones on the leader's disks, or the last."""
        return self._of_broker(broker, version)[chunk][0 if is_first else 1]

    def _of_broker(self, broker: int, version: int) -> Bodies:
        known = self._bodies.get(broker)
        if known is None or known[0] != version:
            first = EARLIEST_LOCAL if version >= LOCAL_VERSION else EARLIEST
            known = self._bodies[broker] = (
                version,
                [
                    (offsets_request(version, named, first), offsets_request(version, named, LATEST))
                    for named in self._named(broker)
                ],
            )
        return known[1]

    def _named(self, broker: int) -> Iterator[list[tuple[bytes, Ints]]]:
        for chunk in self.chunks(broker):
            rows = self.chunk(broker, chunk)
            topics = self.layout.topic_of[rows]
            starts = np.flatnonzero(np.diff(topics, prepend=-1))
            parts = zip(topics[starts].tolist(), np.split(rows, starts[1:]), strict=True)
            yield [
                (self.layout.topics[topic].name.encode(), part - self.layout.first[topic])
                for topic, part in parts
            ]
