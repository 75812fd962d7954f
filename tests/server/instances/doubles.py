"""Instances whose switches are joined in memory."""

import asyncio
from typing import Any

from common.address import Address
from common.clock import ManualClock
from common.off_loop import InlineExecutor
from protocol.frames import RequestFrame, encode_request, parse_request, parse_response
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from server.dispatch.context import Caller
from server.dispatch.router import refused
from server.handlers import load
from server.instances.messages import ForwardedRequest
from server.instances.switch import Switch
from tests.frames import decode_response
from tests.server.fakes import FakeBroker
from tests.server.gateway.doubles import FakeServices

CALLER = Caller(FakeBroker(), "User:alice", "10.0.0.9:4711")
LIST = ListPartitionReassignmentsRequest(timeout_ms=5_000)


class FakeLease:
    """A lease that tests end and renew."""

    valid = True


class FakeNetwork:
    """Implements `Forwarder` between instances in memory. Addresses without an instance cannot be reached."""

    def __init__(self) -> None:
        self.instances: dict[Address, Instance] = {}
        self.forwarded: list[tuple[Address, ForwardedRequest]] = []
        self.lost = 0
        """Answers that are lost after the request was executed, from the next one on."""
        self.hanging = False
        """Whether requests get no answer."""
        self.followed: list[Address | None] = []
        self.given_up: list[ForwardedRequest] = []

    def follow(self, peer: Address | None) -> None:
        self.followed.append(peer)

    async def forward(self, peer: Address, request: ForwardedRequest) -> bytes:
        self.forwarded.append((peer, request))
        if self.hanging:
            await asyncio.Event().wait()
        if peer not in self.instances:
            raise ConnectionRefusedError(str(peer))
        answer = await self.instances[peer].switch.answer_forwarded(request.frame, request.caller)
        if self.lost:
            self.lost -= 1
            raise ConnectionResetError
        return answer

    def give_up(self, request: ForwardedRequest) -> None:
        self.given_up.append(request)


class Instance:
    """One instance with its own controller, which begins as a standby of nobody."""

    def __init__(self, network: FakeNetwork, clock: ManualClock, port: int) -> None:
        self.address, self.url = Address("peer", port), f"http://peer:{port + 1}"
        load()
        self.clock = clock
        self.own, self.lease = FakeServices(), FakeLease()
        self.switch = Switch(network, refused, clock, InlineExecutor())
        network.instances[self.address] = self

    def lead(self, *standbys: "Instance") -> None:
        """Make this instance the active one, also for the standbys."""
        self.switch.serve_here(self.own.services, self.lease)
        for standby in standbys:
            standby.switch.forward_to(self.address, self.url)


def frame_of(request: Any, version: int = 0) -> RequestFrame:
    return parse_request(encode_request(request, version, 7, "me")[4:])


async def response_of(answer: Any, frame: RequestFrame) -> Any:
    """Decode an answer that was returned at once or later."""
    data = answer if isinstance(answer, bytes) else await answer
    parsed = parse_response(data[4:], frame.api_key, frame.api_version)
    assert parsed.correlation_id == frame.correlation_id
    return decode_response(parsed)
