"""Send the controller's rows to the upstream, in order, many in one request.

Requests stay far below the 10,000 records at which Kafka accepts one half of a request and refuses the other.
A row without an answer is not sent again here: the next poll decides (`controller.gateway.reconciliation`).
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

from backends.client.channel import BrokerClient
from backends.client.errors import BrokerError
from backends.upstream.outcomes import (
    Answered,
    UpstreamCounters,
    alter_request,
    answers,
    elect_request,
    election_failure,
    unanswered,
)
from common.error_codes import ErrorCode
from common.wording import counted
from controller.gateway.events import Submitted
from controller.messages.effects import Elect, Submit
from controller.model.replicas import TopicPartition
from controller.ports import SubmitEvent

log = logging.getLogger(__name__)

CHUNK = 1_000
"""Rows in one request."""
TIMEOUT_SECONDS = 20.0
"""The time after which the upstream drops a request that it has not started.

The client waits for the answer longer than that (`client.WRITE_SECONDS`), so that no row takes effect after
the poll that decides about it. The upstream counts from the time at which it reads the request. If it was
suspended before, a row may still take effect after that; no client can rule that out.
"""


class RowSubmitter:
    """Sends rows and elections.

    `submit` submits events; `ready` is awaited before each request, to set throttles first.
    """

    def __init__(
        self,
        client: BrokerClient,
        submit: SubmitEvent,
        ready: Callable[[], Awaitable[None]],
        counters: UpstreamCounters | None = None,
    ) -> None:
        self._counters = counters or UpstreamCounters()
        self._client, self._submit, self._ready = client, submit, ready
        self._rows: deque[Submit] = deque()
        self._elections: dict[Elect, None] = {}
        self._election_failure = ""
        """Why the last elections failed; what fails in the same way again is not logged again."""
        self._outstanding: Counter[TopicPartition] = Counter()
        self._watches: list[set[TopicPartition]] = []
        self._work = asyncio.Event()

    def add(self, effect: Submit | Elect) -> None:
        """Queue the row or the election; it is sent when earlier requests are answered."""
        if isinstance(effect, Elect):
            self._elections[effect] = None
        else:
            key = TopicPartition(effect.topic, effect.partition)
            self._rows.append(effect)
            self._outstanding[key] += 1
            for watch in self._watches:
                watch.add(key)
        self._work.set()

    @contextmanager
    def watch(self) -> Iterator[set[TopicPartition]]:
        """Return the growing set of partitions with an outstanding row at any time in the `with` block."""
        watch = set(self._outstanding)
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    async def run(self) -> None:
        """Send queued rows until cancelled."""
        while True:
            await self._work.wait()
            self._work.clear()
            while self._rows or self._elections:
                await self._send_elections()
                await self._send_rows()

    async def _send_rows(self) -> None:
        rows = self._take()
        if not rows:
            return
        await self._ready()
        try:
            request = alter_request(rows, int(TIMEOUT_SECONDS * 1000))
            answered = answers(rows, await self._client.ask(request))
            self._counters.answered(answered)
        except BrokerError as error:
            answered = unanswered(rows, str(error))
        _log_in_doubt(answered)
        await self._submit(Submitted(answered))
        for topic, partition, _ in rows:
            key = TopicPartition(topic, partition)
            self._outstanding[key] -= 1
            if not self._outstanding[key]:
                del self._outstanding[key]

    def _take(self) -> list[Submit]:
        """Remove and return the next rows. A second row of a partition waits for the answer to the first."""
        taken: dict[TopicPartition, Submit] = {}
        while self._rows and len(taken) < CHUNK:
            row = self._rows[0]
            key = TopicPartition(row.topic, row.partition)
            if key in taken:
                break
            taken[key] = self._rows.popleft()
        return list(taken.values())

    async def _send_elections(self) -> None:
        elections = list(self._elections)[:CHUNK]
        for election in elections:
            del self._elections[election]
        if not elections:
            return
        try:
            response = await self._client.ask(elect_request(elections, int(TIMEOUT_SECONDS * 1000)))
        except BrokerError as error:
            failure = f"{counted(len(elections), 'partition')}, {error}"
        else:
            failure = election_failure(response)
        if failure and failure != self._election_failure:
            log.warning("preferred leaders were not elected: %s", failure)
        self._election_failure = failure


def _log_in_doubt(answered: Iterable[Answered]) -> None:
    """Log rows without an answer.

    Nor has the controller answered if a broker says that the request timed out.
    """
    lost = [outcome.text for _, _, outcome in answered if outcome.error is ErrorCode.REQUEST_TIMED_OUT]
    if lost:
        log.warning(
            "%s without an answer, the next poll shows whether they took effect: %s",
            counted(len(lost), "row"),
            lost[0],
        )
