"""Instances in one process, before a simulated broker. `tests/upstream/test_instances.py` runs processes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from backends.state_topic.state_rows import META_KEY, PORTS_KEY
from common.backoff import RETRY_LATER_SECONDS
from protocol.record_batch import BatchRecord
from reassignd.config.errors import CommandError
from reassignd.config.sources import Assignment, resolve
from reassignd.runtime.instances.runtime import InstancesRuntime
from reassignd.runtime.runtime import HttpContent
from reassignd.runtime.storage.retention import AuditStore
from tests.reassignd.runtime.instances.fake_cluster import FakeCluster, fake_cluster

STATE = "__reassignd_state"


class Served:
    """An instance, and what it has published last."""

    def __init__(self, cluster: FakeCluster, folder: Path, session_ms: int = 3_000) -> None:
        secret = folder / "secret"
        secret.touch(0o600)
        secret.write_text("0123456789abcdef")
        values = {
            "backend": "upstream",
            "state": "topic",
            "upstream.bootstrap.servers": str(cluster.broker.address),
            "listener": "127.0.0.1:0",
            "gateway.session.timeout.ms": str(session_ms),
            "gateway.peer.secret.file": str(secret),
        }
        settings = resolve([Assignment(key, value, "test") for key, value in values.items()])
        self.runtime = InstancesRuntime(settings)
        self.contents: list[HttpContent] = []

    async def start(self) -> "Served":
        async with asyncio.timeout(20):
            await self.runtime.start(self.contents.append)
        return self

    async def stop(self) -> None:
        await self.runtime.stop()

    @property
    def is_active(self) -> bool:
        return self.contents[-1].api is not None

    def metric(self, sample: str) -> float:
        """Return the value of the sample, which is named as on the metrics page."""
        page = self.contents[-1].metrics
        assert page is not None
        lines = page().decode().splitlines()
        return float(next(line for line in lines if line.startswith(f"{sample} ")).split()[1])

    async def until(self, look: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not look():
                await asyncio.sleep(0.01)


@asynccontextmanager
async def instances(
    folder: Path, number: int, session_ms: int = 3_000
) -> AsyncIterator[tuple[FakeCluster, list[Served]]]:
    """Start instances one after the other; the first one is active."""
    async with fake_cluster() as cluster, AsyncExitStack() as stack:
        made = []
        for _ in range(number):
            served = Served(cluster, folder, session_ms)
            stack.callback(served.runtime.close)
            stack.push_async_callback(served.stop)
            made.append(await served.start())
        yield cluster, made


async def test_the_first_instance_is_active_and_the_second_follows(tmp_path: Path) -> None:
    async with instances(tmp_path, 2) as (cluster, (first, second)):
        assert (first.is_active, second.is_active) == (True, False)
        assert first.runtime.records_place == "records in the topic __reassignd_state, active"
        assert second.contents[-1].details().startswith("role: standby\nactive: ")
        assert len(first.runtime.addresses) == len(second.runtime.addresses) == 2
        assert cluster.topics[STATE].epochs == {7: 0}


async def test_a_clean_stop_releases_the_term(tmp_path: Path) -> None:
    async with instances(tmp_path, 2) as (cluster, (first, second)):
        await first.stop()
        await second.until(lambda: second.is_active)
        assert cluster.topics[STATE].epochs == {7: 1}


async def test_each_instance_trims_its_audit_log_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trimmed = []

    async def trim(store: AuditStore, *_: object) -> None:
        trimmed.append(store)

    monkeypatch.setattr(AuditStore, "trim_periodically", trim)
    async with instances(tmp_path, 2) as (_, served):
        assert trimmed == [each.runtime._audit._trimmed for each in served]


async def test_a_term_is_handed_over_and_back_without_a_pause(tmp_path: Path) -> None:
    async with instances(tmp_path, 2, session_ms=30_000) as (_, (first, second)):
        assert not second.runtime.hand_over()
        assert first.runtime.hand_over()
        await second.until(lambda: second.is_active and not first.is_active)
        assert second.runtime.hand_over()
        await first.until(lambda: first.is_active and not second.is_active)


async def test_a_fenced_instance_follows(tmp_path: Path) -> None:
    async with instances(tmp_path, 1) as (cluster, (only,)):
        cluster.topics[STATE].epochs[7] = 0
        cluster._epoch += 1
        cluster.topics[STATE].epochs[7] = 1
        await only.until(lambda: not only.is_active)
        await only.until(lambda: only.is_active)


async def test_counters_go_on_in_the_next_term(tmp_path: Path) -> None:
    polls = 'reassignd_upstream_polls_total{result="ok"}'
    async with instances(tmp_path, 1) as (_, (only,)):
        await only.until(lambda: only.metric(polls) >= 3)
        assert only.runtime.hand_over()
        await only.until(lambda: not only.is_active)
        await only.until(lambda: only.is_active)
        assert only.metric(polls) >= 4


async def test_after_the_topic_was_deleted_no_instance_is_active(tmp_path: Path) -> None:
    async with instances(tmp_path, 1) as (cluster, (only,)):
        cluster.delete(STATE)
        await only.until(lambda: "was deleted" in (only.contents[-1].obstacle or ""))


async def test_without_brokers_readyz_says_since_when(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with instances(tmp_path, 1) as (cluster, (only,)):
        port = cluster.broker.address.port
        await cluster.broker.stop()
        await only.until(lambda: "the upstream cannot be reached since" in (only.contents[-1].obstacle or ""))
        assert only.contents[-1].details().startswith("role: active, but the lease has lapsed")
        assert only.metric("reassignd_instance_active") == 0
        await cluster.broker.start(port)
        await only.until(lambda: only.is_active and only.contents[-1].obstacle is None)
        assert caplog.messages.count("the upstream answers again") == 1


async def test_an_active_instance_whose_lease_has_lapsed_says_so(tmp_path: Path) -> None:
    async with instances(tmp_path, 1) as (_, (only,)):
        assert only.contents[-1].details() == "role: active\n"
        assert only.runtime._active is not None
        only.runtime._active.lease.end()
        assert only.contents[-1].details().startswith("role: active, but the lease has lapsed")


async def test_overwritten_rows_are_written_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with instances(tmp_path, 1) as (cluster, (only,)):
        cluster.write(STATE, BatchRecord(PORTS_KEY, b"{}"))
        await only.until(lambda: "1 of its keys are written again" in caplog.text)


async def test_a_standby_relays_but_claims_no_term_after_a_newer_version_has_converted_the_records(
    tmp_path: Path,
) -> None:
    async with instances(tmp_path, 2) as (_, (first, second)):
        active = first.runtime._active
        assert active is not None
        await active._writer.commit([BatchRecord(META_KEY, b'{"format": 9}')])
        line = "cannot become active: the state topic __reassignd_state has format 9"
        await second.until(lambda: line in second.contents[-1].details())
        assert second.contents[-1].obstacle is None
        await first.stop()
        await second.until(lambda: "no instance is active" in second.contents[-1].details())
        await asyncio.sleep(1)
        assert not second.is_active


async def test_rows_that_cannot_be_read_are_refused_at_the_start(tmp_path: Path) -> None:
    async with fake_cluster() as cluster:
        cluster.write(STATE, BatchRecord(b"garbage", b"{}"))
        served = Served(cluster, tmp_path)
        with pytest.raises(
            CommandError, match=r"the state topic cannot be read: a row .* not JSON: b'garbage'"
        ):
            await served.start()
        await served.stop()
        served.runtime.close()


async def test_a_standby_claims_no_term_while_a_row_cannot_be_read(tmp_path: Path) -> None:
    async with instances(tmp_path, 2) as (_, (first, second)):
        active = first.runtime._active
        assert active is not None
        await active._writer.commit([BatchRecord(b'["of_tomorrow",1]', b"{}")])
        line = "cannot become active: the state topic has a row of the unknown kind 'of_tomorrow'"
        await second.until(lambda: line in second.contents[-1].details())
        await active._writer.commit([BatchRecord(b'["of_tomorrow",1]', None)])
        await second.until(lambda: line not in second.contents[-1].details())
        await first.stop()
        await second.until(lambda: second.is_active)


async def test_a_standby_claims_no_term_while_a_batch_cannot_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with instances(tmp_path, 2) as (cluster, (first, second)):
        topic = cluster.topics[STATE]
        topic.batches.append((topic.end, bytes(61)))
        line = "the state topic cannot be read: the batch at offset 0 has 0 bytes"
        await second.until(lambda: f"cannot become active: {line}" in second.contents[-1].details())
        await asyncio.sleep(2 * RETRY_LATER_SECONDS)
        assert caplog.messages.count(f"this instance claims no term: {line}") == 1
        assert "has ended" not in caplog.text
        topic.batches = [each for each in topic.batches if len(each[1]) > 61]
        await second.until(lambda: line not in second.contents[-1].details())
        await first.stop()
        await second.until(lambda: second.is_active)


@pytest.mark.parametrize(
    ("meta", "line"),
    [
        (b'{"format": 9}', "has format 9"),
        (b'{"format": 1, "upstream_cluster_id": "other"}', "has the records of cluster other, not of fake"),
    ],
)
async def test_records_that_are_not_for_this_instance_are_refused(
    tmp_path: Path, meta: bytes, line: str
) -> None:
    async with fake_cluster() as cluster:
        cluster.write(STATE, BatchRecord(META_KEY, meta))
        served = Served(cluster, tmp_path)
        with pytest.raises(CommandError, match=line):
            await served.start()
        await served.stop()
        served.runtime.close()
