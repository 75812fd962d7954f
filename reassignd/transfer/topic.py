"""A state topic as the source or the target of a move: read as a standby reads it, written under a claim."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from random import SystemRandom

from backends.audit_topic.entries import (
    append_entries,
    audit_topic,
    encode_entry,
    entries_in_batches,
    entries_in_rows,
    open_audit_topic,
)
from backends.audit_topic.mirror import AuditTopicLog, KnownIds
from backends.client.errors import BrokerError
from backends.client.handshake import ClientSettings
from backends.client.security import PLAINTEXT
from backends.state_topic.candidate import Candidate
from backends.state_topic.claim import Claim, Lease
from backends.state_topic.history import History
from backends.state_topic.kafka_log import KafkaStateLog
from backends.state_topic.log import FencedError, Fetched, StateLog, Timings, until_answered
from backends.state_topic.topic import StateTopicError, find_topic, open_topic
from backends.state_topic.writer import Batches, TermWriter
from backends.upstream.client import UpstreamClient
from common.clock import Clock, RealClock
from controller.model.audit import AuditEntry
from controller.ports import StoreLostError
from protocol.codec.errors import DecodeError
from protocol.record_batch import BatchRecord, Producer
from reassignd.config import command_config
from reassignd.config.errors import CommandError
from reassignd.config.settings import Settings
from reassignd.config.version import __version__
from reassignd.transfer.topic_rows import Contents, Rows, changes_between, decode

ANSWER_SECONDS = 60.0
"""Limit for reading, and for a commit."""


class Topic:
    """The topic, its audit topic, and the rows as of the last `read`. Raises CommandError throughout."""

    def __init__(
        self,
        name: str,
        cluster_id: str,
        state_log: StateLog,
        audit_log: AuditTopicLog | None,
        timings: Timings,
        clock: Clock,
    ) -> None:
        self.name, self.cluster_id = name, cluster_id
        self._log, self._audit, self._timings, self._clock = state_log, audit_log, timings, clock
        self._history = History()
        self._heard: tuple[Producer, int | None] | None = None
        """The producer that is active, and the sequence after its last batch, when the end was read first."""

    @property
    def rows(self) -> Rows:
        """The rows by key."""
        return self._history.rows

    async def read(self) -> None:
        """Read to the end."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                while True:
                    fetched = await self._fetch(self._log, self._history.next_offset)
                    self._history.apply(fetched.batches)
                    if self._history.next_offset >= fetched.end_offset:
                        return
        except (DecodeError, FencedError) as error:
            raise CommandError(str(error)) from error
        except TimeoutError as error:
            raise CommandError(f"the state topic {self.name} does not answer") from error

    async def contents(self) -> Contents | None:
        """Return what the rows say; None if no instance was active yet."""
        return await decode(self._history, self.name, self.cluster_id)

    async def entries(self) -> list[AuditEntry]:
        """Return the audit log by id, each entry once.

        The entries are those of the audit topic and those that wait in the rows.
        """
        found = [] if self._audit is None else await self._copied_entries(self._audit)
        known = KnownIds()
        return sorted(entry for entry in [*found, *entries_in_rows(self.rows)] if known.add(entry.id))

    async def append_entries(self, entries: Sequence[AuditEntry]) -> None:
        """Write entries to the audit topic, if there is one."""
        audit, rows = self._audit, [encode_entry(entry) for entry in entries]
        if audit is None:
            return
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await until_answered(self._clock, lambda: append_entries(audit, rows))
        except (TimeoutError, FencedError) as error:
            raise CommandError(f"the audit log cannot be written: {error}") from error

    @asynccontextmanager
    async def term(self) -> AsyncIterator[TermWriter]:
        """Be the active instance inside the context: `rows` is complete, and nobody else writes."""
        candidate = Candidate(
            self._log,
            self._history,
            _new_claim(self._timings),
            self._timings,
            self._clock,
            SystemRandom(),
            on_read=self._refuse_active,
        )
        try:
            async with asyncio.timeout(4 * self._timings.session + ANSWER_SECONDS):
                term = await candidate.claim_term()
        except TimeoutError as error:
            raise CommandError(f"the state topic {self.name} does not answer") from error
        except (DecodeError, FencedError) as error:
            raise CommandError(str(error)) from error
        lease = Lease(self._clock, self._timings.lease)
        lease.renew(term.claimed)
        writer = TermWriter(self._log, term, lease, self._timings, self._clock)
        running = asyncio.ensure_future(writer.run())
        try:
            yield writer
        except StoreLostError as error:
            raise CommandError(f"nothing was moved: {error}") from error
        finally:
            writer.close(release=True)
            await asyncio.wait([running], timeout=ANSWER_SECONDS)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def replace(self, writer: TermWriter, rows: Rows) -> None:
        """Write what differs, so that the topic has these rows; all or none."""
        # In a thread, since a million rows take seconds, in which beats must go on.
        changes = await asyncio.to_thread(lambda: Batches(changes_between(self.rows, rows)))
        await self.write(writer, changes)

    async def write(self, writer: TermWriter, changes: Batches | Sequence[BatchRecord]) -> None:
        """Write the rows, all or none."""
        try:
            await asyncio.wait_for(writer.commit(changes), ANSWER_SECONDS)
        except TimeoutError as error:
            raise CommandError(
                f"the state topic {self.name} did not answer in time; it is not known whether the rows were"
                " written: repeat the command"
            ) from error

    def _refuse_active(self, at_end: bool) -> None:
        """Raise CommandError when another instance has written since the end was read: it is active."""
        claim = self._history.claim
        if claim is None or claim.released or claim.instance == _own_id():
            return
        heard = claim.producer, self._history.next_sequence
        if self._heard is not None and self._heard != heard:
            raise CommandError(
                f"instance {claim.instance} is active: stop all instances that use the state topic"
                f" {self.name}"
            )
        if at_end:
            self._heard = heard

    async def _fetch(self, log: StateLog, offset: int) -> Fetched:
        while True:
            try:
                return await log.fetch(offset)
            except OSError:
                await self._clock.sleep(1)

    async def _copied_entries(self, log: AuditTopicLog) -> list[AuditEntry]:
        entries: list[AuditEntry] = []
        try:
            async with asyncio.timeout(10 * ANSWER_SECONDS):
                offset = await log.start_offset()
                while True:
                    fetched = await self._fetch(log, offset)
                    entries += entries_in_batches(fetched.batches)[0]
                    offset = max((each.header.last_offset + 1 for each in fetched.batches), default=offset)
                    if offset >= fetched.end_offset:
                        return entries
        except (OSError, FencedError, DecodeError) as error:
            raise CommandError(f"the audit log cannot be read: {error}") from error


def _own_id() -> str:
    return f"command-{socket.gethostname()}-{os.getpid()}"


def _new_claim(timings: Timings) -> Callable[[Claim | None, Producer], Claim]:
    def new_claim(last: Claim | None, producer: Producer) -> Claim:
        return Claim(
            instance=_own_id(),
            term=last.term + 1 if last else 1,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            replaces=last.producer if last else None,
            session_ms=round(timings.session * 1000),
            version=__version__,
        )

    return new_claim


@asynccontextmanager
async def connected(settings: Settings, *, create: bool) -> AsyncIterator[Topic]:
    """Connect to the topic of the settings.

    Raises CommandError if it does not exist, unless `create` is set.
    """
    path, name = settings.upstream_command_config, settings.state_topic
    security = PLAINTEXT if path is None else command_config.load(path)
    client_settings = ClientSettings(software_version=__version__, security=security)
    clients = [UpstreamClient(settings.upstream_bootstrap_servers, client_settings) for _ in range(2)]
    try:
        await clients[0].refresh()
        if create:
            await open_topic(clients[0], name, settings.state_topic_replication_factor)
            await open_audit_topic(
                clients[0], name, settings.state_topic_replication_factor, settings.audit_retention_ms
            )
        elif await find_topic(clients[0], name) is None:
            raise CommandError(f"there is no topic {name} in cluster {clients[0].cluster_id}")
        audit = audit_topic(name)
        has_audit = await find_topic(clients[0], audit) is not None
        audit_log = KafkaStateLog(audit, *clients) if has_audit else None
        timings = Timings(settings.gateway_session_timeout_ms / 1000)
        yield Topic(
            name, clients[0].cluster_id, KafkaStateLog(name, *clients), audit_log, timings, RealClock()
        )
    except (BrokerError, StateTopicError) as error:
        raise CommandError(str(error)) from error
    finally:
        for client in clients:
            await client.close()
