import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from backends.client.errors import (
    BrokerError,
    RequestLostError,
    RequestTimedOutError,
    UnreachableError,
    UnsupportedError,
)
from backends.upstream.client import ListedBroker, UpstreamClient
from common.clock import ManualClock
from protocol.apis import ApiKey
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.describe_cluster_response import DescribeClusterResponse
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from tests.backends.client.fake import HANG_UP, FakeBroker, broker, everything

LIST = ListPartitionReassignmentsRequest()
ALTER = AlterPartitionReassignmentsRequest()


class Upstream:
    """Three fake brokers. The first is the bootstrap server and describes the others."""

    def __init__(self, brokers: list[FakeBroker]) -> None:
        self.brokers = brokers
        for each in brokers:
            each.describes(*brokers, fenced=3)
            each.answers[AlterPartitionReassignmentsRequest] = lambda _: AlterPartitionReassignmentsResponse()
        self.clock = ManualClock()
        self.client = UpstreamClient([brokers[0].address], clock=self.clock)

    def asked(self, kind: type) -> list[int]:
        """Return the number of the broker of each request of this class."""
        return [
            number
            for number, each in enumerate(self.brokers, 1)
            for request in each.requests
            if isinstance(request, kind)
        ]


@asynccontextmanager
async def running() -> AsyncIterator[Upstream]:
    async with AsyncExitStack() as stack:
        result = Upstream([await stack.enter_async_context(broker()) for _ in range(3)])
        yield result
        await result.client.close()


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with running() as result:
        await result.client.refresh()
        yield result


async def test_a_refresh_reads_brokers_controller_and_cluster_id(upstream: Upstream) -> None:
    client = upstream.client
    assert (client.cluster_id, client.controller_id) == ("fake", 1)
    assert client.brokers[2] == ListedBroker(2, *upstream.brokers[1].address, None, fenced=False)
    assert [each.fenced for each in client.brokers.values()] == [False, False, True]


async def test_an_older_upstream_lists_live_brokers_only() -> None:
    async with broker() as fake:
        old = [row._replace(max_version=min(row.max_version, 1)) for row in everything().api_keys]
        fake.answers[ApiVersionsRequest] = lambda _: everything()._replace(api_keys=old)
        row = MetadataResponseBroker(5, *fake.address, "r1")
        fake.answers[MetadataRequest] = lambda _: MetadataResponse(brokers=[row], controller_id=5)
        client = UpstreamClient([fake.address])
        await client.refresh()
        assert client.brokers == {5: ListedBroker(5, *fake.address, "r1", fenced=False)}
        await client.close()


async def test_a_broker_is_asked_by_its_id(upstream: Upstream) -> None:
    for broker_id in (3, 1, 2, 2):
        await upstream.client.ask(LIST, broker_id)
    assert upstream.asked(ListPartitionReassignmentsRequest) == [1, 2, 2, 3]


async def test_a_request_to_an_unknown_broker_is_an_error(upstream: Upstream) -> None:
    with pytest.raises(UnreachableError, match="no broker 9"):
        await upstream.client.ask(LIST, 9)


async def test_requests_to_any_broker_go_to_the_controller_while_it_answers(upstream: Upstream) -> None:
    for _ in range(3):
        await upstream.client.ask(LIST)
    assert upstream.asked(ListPartitionReassignmentsRequest) == [1, 1, 1]


async def test_a_read_tries_the_next_broker_and_later_reads_stay_there(upstream: Upstream) -> None:
    upstream.brokers[0].answers[ListPartitionReassignmentsRequest] = lambda _: HANG_UP
    for _ in range(3):
        await upstream.client.ask(LIST)
    assert upstream.asked(ListPartitionReassignmentsRequest) == [1, 2, 2, 2]


async def test_a_read_without_an_answer_tries_the_next_broker(upstream: Upstream) -> None:
    upstream.brokers[0].answers[ListPartitionReassignmentsRequest] = lambda _: None
    await upstream.client.ask(LIST, timeout_seconds=1)
    assert upstream.asked(ListPartitionReassignmentsRequest) == [1, 2]


async def test_a_write_in_doubt_is_not_sent_again(upstream: Upstream) -> None:
    upstream.brokers[0].answers[AlterPartitionReassignmentsRequest] = lambda _: HANG_UP
    with pytest.raises(RequestLostError):
        await upstream.client.ask(ALTER)
    upstream.brokers[1].answers[AlterPartitionReassignmentsRequest] = lambda _: None
    with pytest.raises(RequestTimedOutError):
        await upstream.client.ask(ALTER, timeout_seconds=0.05)
    assert upstream.asked(AlterPartitionReassignmentsRequest) == [1, 2]


async def test_a_write_that_was_not_sent_tries_the_next_broker(upstream: Upstream) -> None:
    await upstream.brokers[0].stop()
    with pytest.raises(BrokerError):
        await upstream.client.ask(LIST, 1)
    assert await upstream.client.ask(ALTER) == AlterPartitionReassignmentsResponse()
    assert upstream.asked(AlterPartitionReassignmentsRequest) == [2]


async def test_without_any_answer_the_last_failure_is_raised(upstream: Upstream) -> None:
    for each in upstream.brokers:
        await each.stop()
    with pytest.raises(BrokerError, match=r"127\.0\.0\.1:\d+"):
        await upstream.client.ask(LIST)
    with pytest.raises(UnreachableError, match="cannot connect"):
        await upstream.client.ask(LIST)


async def test_a_broker_that_is_reachable_again_is_asked_again(upstream: Upstream) -> None:
    first = upstream.brokers[0]
    _, port = first.address
    await first.stop()
    for _ in range(2):
        with pytest.raises(BrokerError):
            await upstream.client.ask(LIST, 1)
    await first.start(port)
    await upstream.clock.advance(1)
    await upstream.client.ask(LIST, 1)
    assert upstream.asked(ListPartitionReassignmentsRequest) == [1]


async def test_an_unsupported_api_is_not_tried_at_other_brokers(upstream: Upstream) -> None:
    await upstream.client.ask(LIST)
    fewer = [row for row in everything().api_keys if row.api_key != ApiKey.LIST_PARTITION_REASSIGNMENTS]
    upstream.brokers[0].answers[ApiVersionsRequest] = lambda _: everything()._replace(api_keys=fewer)
    upstream.brokers[0].cut()
    with pytest.raises(BrokerError):
        await upstream.client.ask(LIST, 1)
    with pytest.raises(UnsupportedError, match="does not serve ListPartitionReassignments"):
        await upstream.client.ask(LIST, 1)


async def test_a_broker_is_asked_at_its_new_address(upstream: Upstream) -> None:
    async with broker() as moved:
        first, _, third = upstream.brokers
        first.describes(first, moved, third)
        await upstream.client.refresh()
        await upstream.client.ask(LIST, 2)
        assert moved.asked == [LIST]


@pytest.mark.parametrize(
    "answer", [DescribeClusterResponse(error_code=-1, error_message="no"), DescribeClusterResponse()]
)
async def test_a_failed_refresh_keeps_the_known_brokers(upstream: Upstream, answer: Any) -> None:
    upstream.brokers[0].answers[DescribeClusterRequest] = lambda _: answer
    with pytest.raises(BrokerError):
        await upstream.client.refresh()
    assert len(upstream.client.brokers) == 3


async def test_the_link_to_an_old_address_is_removed_when_it_is_idle(
    upstream: Upstream,
) -> None:
    await upstream.client.ask(LIST, 2)
    first, left, third = upstream.brokers
    first.describes(first, third)
    await upstream.client.refresh()
    async with asyncio.timeout(30):
        while left.address in upstream.client.linked:
            await upstream.client.refresh()
    assert upstream.client.linked == {first.address}


async def test_the_link_to_a_bootstrap_address_is_kept(upstream: Upstream) -> None:
    first, second, third = upstream.brokers
    for each in upstream.brokers:
        each.describes(second, third)
    first.cut()
    for _ in range(5):
        await upstream.client.refresh()
    assert first.address in upstream.client.linked


async def test_links_are_created_when_they_are_needed_and_can_be_closed(upstream: Upstream) -> None:
    first, second, third = upstream.brokers
    first.describes(first, third)
    described = first.answers[DescribeClusterRequest](None)
    later: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    first.answers[DescribeClusterRequest] = lambda _: later
    first.answers[ListPartitionReassignmentsRequest] = lambda _: later.set_result(described)
    refreshing = asyncio.create_task(upstream.client.refresh())
    await asyncio.sleep(0)
    asking = asyncio.create_task(upstream.client.ask(LIST))
    await refreshing
    first.cut()
    await asking
    assert upstream.asked(ListPartitionReassignmentsRequest) == [1, 2]
    assert second.address in upstream.client.linked


async def test_a_closed_client_sends_nothing(upstream: Upstream) -> None:
    await upstream.client.close()
    for broker_id in (None, 1):
        with pytest.raises(UnreachableError, match="closed"):
            await upstream.client.ask(LIST, broker_id)


async def test_a_read_times_out_sooner_than_a_write(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in (ListPartitionReassignmentsRequest, AlterPartitionReassignmentsRequest):
        upstream.brokers[0].answers[kind] = lambda _: None
    monkeypatch.setattr("backends.upstream.client.READ_SECONDS", 0.05)
    await upstream.client.ask(LIST)
    writing = asyncio.ensure_future(upstream.client.ask(ALTER, 1))
    done, _ = await asyncio.wait([writing], timeout=0.2)
    assert not done
    writing.cancel()


async def test_a_write_waits_for_the_permit_and_a_read_does_not(upstream: Upstream) -> None:
    permitted = False
    client = UpstreamClient([upstream.brokers[0].address], clock=upstream.clock, permit=lambda: permitted)
    await client.refresh()
    write = asyncio.create_task(client.ask(ALTER))
    async with asyncio.timeout(30):
        while not client._counters.held:
            await asyncio.sleep(0.001)
    await upstream.clock.advance(10)
    assert upstream.asked(AlterPartitionReassignmentsRequest) == []
    permitted = True
    assert client.writes_in_flight == 0
    await upstream.clock.advance(1)
    await write
    assert client.writes_in_flight == 0
    assert len(upstream.asked(AlterPartitionReassignmentsRequest)) == 1
    await client.close()
