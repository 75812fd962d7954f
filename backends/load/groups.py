"""What consumers read, from the offsets that their groups commit."""

import asyncio
from collections.abc import Iterator, Sequence

import numpy as np

from backends.client.errors import BrokerError
from backends.client.exchange import Encode, ask
from backends.load.asking import Brokers
from backends.load.columns import Samples
from backends.load.layout import Layout
from backends.load.problems import Problems, refusal
from backends.load.profile import Floats
from backends.load.wire import (
    COMMITTED_VERSIONS,
    GROUPS_VERSIONS,
    Committed,
    Ints,
    committed_request,
    read_committed,
)
from common.clock import Clock
from common.error_codes import ErrorCode, error_name
from common.off_loop import OffLoop
from common.tasks import side_by_side
from protocol.apis import ApiKey
from protocol.codec.errors import DecodeError
from protocol.messages.list_groups_request import ListGroupsRequest

CHUNK = 50
"""Groups in a request."""
AT_ONCE = 4
"""Brokers that are asked at once."""
MOST_OFFSETS = 5_000_000
"""Committed offsets that are kept. They take 80 MB."""
UNKNOWN = "bytes out are unknown"

Offsets = tuple[Ints, Ints]
"""Ascending rows, and the committed offset of each."""


class Groups:
    """The committed offsets of the last measurement."""

    def __init__(self, brokers: Brokers, off_loop: OffLoop, clock: Clock, timeout: float) -> None:
        self._brokers, self._off_loop, self._clock, self._timeout = brokers, off_loop, clock, timeout
        self._last: dict[str, Offsets] = {}
        self._at: float | None = None

    def forget(self) -> None:
        """Begin anew: the rows or the time of the last measurement do not count any more."""
        self._last, self._at = {}, None

    async def measure(self, live: Sequence[int], samples: Samples, problems: Problems) -> Floats:
        """Ask all coordinators, and return the bytes per second that were read since the last time.

        They are NaN where they are not known: if one coordinator does not answer, its groups may read
        anything.
        """
        gate, found = asyncio.Semaphore(AT_ONCE), dict[str, Offsets]()

        async def ask_one(broker: int) -> bool:
            async with gate:
                return await self._ask(broker, samples.layout, found, problems)

        asked = self._clock.now()
        complete = all(await side_by_side(map(ask_one, live)))
        now = (asked + self._clock.now()) / 2
        if complete:
            seconds = 0.0 if self._at is None else now - self._at
            last, self._last, self._at = self._last, found, now
            return await self._off_loop.run(_read, samples, last, found, seconds)
        self.forget()
        return await self._off_loop.run(_read, samples, {}, {}, 0.0)

    async def _ask(self, broker: int, layout: Layout, found: dict[str, Offsets], problems: Problems) -> bool:
        """Add the offsets of the groups that a broker coordinates; return whether all are known."""
        try:
            groups = await self._groups(broker, problems)
            if groups is None:
                return False
            for start in range(0, len(groups), CHUNK):
                body = _committed_body(groups[start : start + CHUNK])
                frame = await self._brokers.exchange(
                    broker, ApiKey.OFFSET_FETCH, COMMITTED_VERSIONS, body, self._timeout
                )
                told = await self._off_loop.run(read_committed, bytes(frame.body), layout.numbers)
                if not self._keep(told, layout, found, problems, broker):
                    return False
        except (BrokerError, DecodeError) as error:
            problems.add(f"{UNKNOWN}: {error}", broker)
            return False
        return True

    async def _groups(self, broker: int, problems: Problems) -> list[str] | None:
        exchange, request = self._brokers.exchange, ListGroupsRequest()
        answer = await ask(exchange, self._off_loop, broker, request, GROUPS_VERSIONS, self._timeout)
        if answer.error_code != ErrorCode.NONE:
            problems.add(
                refusal("ListGroups", answer.error_code, "Describe on all groups", "bytes out"), broker
            )
            return None
        # Share groups have offsets of another kind (KIP-932).
        return [each.group_id for each in answer.groups if each.group_type != "share"]

    def _keep(
        self,
        told: Sequence[Committed],
        layout: Layout,
        found: dict[str, Offsets],
        problems: Problems,
        broker: int,
    ) -> bool:
        kept = sum(len(rows) for rows, _ in found.values())
        for group in told:
            if group.code:
                problems.add(_offsets_refused(group.code), broker)
                return False
            rows, known = layout.rows(group.rows.topics, group.rows.partitions)
            offsets = group.rows.values[0][known]
            rows, offsets = rows[offsets >= 0], offsets[offsets >= 0]
            kept += len(rows)
            if kept > MOST_OFFSETS:
                problems.add(f"{UNKNOWN}: groups have more than {MOST_OFFSETS:,} committed offsets")
                return False
            order = np.argsort(rows)
            found[group.name] = rows[order], offsets[order]
        return True


def _offsets_refused(code: int) -> str:
    if code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
        return refusal("OffsetFetch", code, "Describe on all groups", "bytes out")
    # Its coordinator moves or loads: without offsets the group would seem to have read nothing.
    return f"{UNKNOWN}: OffsetFetch: {error_name(code)}"


def _committed_body(groups: Sequence[str]) -> Encode:
    async def body(version: int) -> bytes:
        return committed_request(version, groups)

    return body


def _read(samples: Samples, last: dict[str, Offsets], now: dict[str, Offsets], seconds: float) -> Floats:
    """Return the rates between two measurements. Without seconds nothing is known."""
    if seconds <= 0:
        return np.full(samples.layout.size, np.nan)
    records = np.zeros(samples.layout.size)
    for rows, count in _progress(last, now):
        records[rows] += count
    known = np.where(samples.size < 0, np.nan, records * samples.mean_record())
    return np.where(records == 0, 0.0, known / seconds)


def _progress(last: dict[str, Offsets], now: dict[str, Offsets]) -> Iterator[tuple[Ints, Floats]]:
    """Yield the rows of each group, and the records that it has read; NaN where it is new.

    An offset that was set back has read nothing.
    """
    for name, (rows, offsets) in now.items():
        before, earlier = last.get(name, (rows[:0], rows[:0]))
        _, here, there = np.intersect1d(rows, before, assume_unique=True, return_indices=True)
        count = np.full(len(rows), np.nan)
        count[here] = np.maximum(offsets[here] - earlier[there], 0)
        yield rows, count
