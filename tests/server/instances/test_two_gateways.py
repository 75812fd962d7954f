"""Two gateways before a simulated upstream, joined by real links: clients of the standby, and take-overs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from common.address import Address
from common.clock import RealClock
from controller.model.cluster import ResourceType
from controller.modes import GATEWAY
from protocol.frames import RequestFrame, decode_request
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from protocol.messages.list_groups_request import ListGroupsRequest
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from server.connections.client_connection import ConnectionLimits
from server.counters import Counters
from server.dispatch.configs import check_broker
from server.dispatch.router import Refusals, Router
from server.gateway.gateway import Gateway
from server.gateway.port_assignments import PortAssignments
from server.gateway.services import GatewayServices
from server.handlers import load
from server.instances.links import InstanceLinks
from server.instances.listener import InstanceEndpoint, InstanceListener
from server.instances.switch import Switch
from tests.builders import InMemoryController, partition
from tests.server.api.api_client import ImmediateDriver
from tests.server.fakes import services
from tests.server.gateway.sockets import SETTINGS, FakeKafka, connect
from tests.server.instances.doubles import FakeLease
from tests.server.instances.sockets import LOOPBACK, security

MOVEMENTS = "reassignment.max.concurrent.partition.movements"
DENIED = 31


class FakeUpstream(FakeKafka):
    """A broker that also tells whether the principal may do what reassignd answers."""

    allowed = True

    def _answer(self, frame: RequestFrame) -> Any:
        code = 0 if self.allowed else DENIED
        match frame.api_key:
            case 45:
                return AlterPartitionReassignmentsResponse(error_code=code)
            case 46:
                return ListPartitionReassignmentsResponse(error_code=code)
            case 44:
                (resource,) = decode_request(frame, IncrementalAlterConfigsRequest).resources
                row = AlterConfigsResourceResponse(code, None, resource.resource_type, resource.resource_name)
                return IncrementalAlterConfigsResponse(responses=[row])
        return super()._answer(frame)


class GatewayInstance:
    """One gateway with its peer listener, and the records of the cluster, which both instances share."""

    def __init__(self, name: str, controller: InMemoryController, folder: Path) -> None:
        self.lease, stats = FakeLease(), Counters()
        self.driver = ImmediateDriver(controller)
        controller.state.mode = GATEWAY
        shared = services(controller.state, self.driver)
        router = Router(shared, stats, load())
        self.own = GatewayServices(router.answer, router.refuse, partial(check_broker, controller.state))
        clock = RealClock()
        self.links = InstanceLinks(security(name), clock)
        self.switch = Switch(self.links, Refusals(shared.off_loop, stats).refuse, clock, shared.off_loop)
        self.listener = InstanceListener(InstanceEndpoint(self.switch), security(name), clock)
        (folder / name).mkdir()
        ports = PortAssignments(folder / name)
        self.gateway = Gateway(
            self.switch.services, SETTINGS, ConnectionLimits(), stats, ports, shared.off_loop
        )
        self.peer: Address

    @asynccontextmanager
    async def running(self, brokers: dict[int, Address]) -> AsyncIterator[None]:
        self.peer = await self.listener.open(LOOPBACK)
        await self.gateway.update(brokers)
        try:
            yield
        finally:
            await self.gateway.close(0)
            await self.listener.close()
            await self.links.close()

    def lead(self, other: "GatewayInstance") -> None:
        self.switch.serve_here(self.own, self.lease)
        other.switch.forward_to(self.peer, "")


class Site:
    """Two gateways, and a client of the second one."""

    def __init__(self, folder: Path) -> None:
        self.controller = InMemoryController((1, 2, 3)).with_partitions(partition("foo-0", [1, 2]))
        self.upstream = FakeUpstream()
        self.first, self.second = (
            GatewayInstance(name, self.controller, folder) for name in ("first", "second")
        )

    async def ask(self, request: Any, version: int) -> Any:
        talk = await connect(self.second.gateway.addresses[1])
        try:
            return await talk.ask(request, version)
        finally:
            await talk.close()


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with AsyncExitStack() as stack:
        site = Site(tmp_path)
        await stack.enter_async_context(site.upstream)
        brokers = site.upstream.brokers = {1: site.upstream.address}
        for instance in (site.first, site.second):
            await stack.enter_async_context(instance.running(brokers))
        yield site


def order(*replicas: int, timeout_ms: int = 10_000) -> AlterPartitionReassignmentsRequest:
    topic = ReassignableTopic("foo", [ReassignablePartition(0, replicas)])
    return AlterPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=[topic])


async def test_an_order_at_a_standby_becomes_a_job_of_the_active_instance(site: Site) -> None:
    site.first.lead(site.second)
    response = await site.ask(order(2, 3), 1)
    assert response.responses[0].partitions[0].error_code == 0
    assert response.job_id == 1
    (event,) = site.first.driver.events
    assert event.requester == ("User:ANONYMOUS", "me", "second")  # type: ignore[attr-defined]
    listed = await site.ask(ListPartitionReassignmentsRequest(), 0)
    assert [topic.name for topic in listed.topics] == ["foo"]


async def test_a_denied_order_is_refused_at_the_standby(site: Site) -> None:
    site.first.lead(site.second)
    site.upstream.allowed = False
    assert (await site.ask(order(2, 3), 1)).error_code == DENIED
    assert site.first.driver.events == []


async def test_own_keys_are_set_at_the_active_instance(site: Site) -> None:
    site.first.lead(site.second)
    change = AlterConfigsResource(ResourceType.BROKER, "", [AlterableConfig(MOVEMENTS, 0, "7")])
    response = await site.ask(IncrementalAlterConfigsRequest([change]), 1)
    assert [row.error_code for row in response.responses] == [0]
    assert site.controller.state.settings.configs[ResourceType.BROKER, ""] == {MOVEMENTS: "7"}


async def test_other_requests_are_relayed_while_nobody_is_active(site: Site) -> None:
    response = await site.ask(ListGroupsRequest(), 4)
    assert [group.group_id for group in response.groups] == [str(site.upstream.address.port)]
    assert (await site.ask(order(2, 3, timeout_ms=50), 1)).error_code == 41


async def test_an_order_whose_active_instance_ends_is_answered_by_the_next_one(site: Site) -> None:
    site.first.lead(site.second)
    site.first.lease.valid = False
    asked = asyncio.create_task(site.ask(order(2, 3), 1))
    while not site.first.driver.events:
        await asyncio.sleep(0.01)
    await site.first.listener.close()
    site.second.lead(site.first)
    response = await asked
    assert response.responses[0].partitions[0].error_code == 0
    assert len(site.controller.state.orders.jobs) == 1, "the same order again is no further job"
