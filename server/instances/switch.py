"""The switch: each request for reassignd is answered here, forwarded to the active instance, or held.

The runtime of the instance turns it. A request waits while no instance is active, up to its own timeout and
HOLD_SECONDS, and is then refused with NOT_CONTROLLER, as by a Kafka controller that has resigned. A request
whose answer was lost is sent again to the next active instance. That is harmless: the same targets are
accepted again and change nothing, and so do the same configs. When the client has gone, the request is not
sent again, and the instance that has it is told to give it up: the client may send another request elsewhere,
which this one must not undo.
"""

import asyncio
import re
from collections.abc import Awaitable, Sequence
from itertools import count
from struct import unpack_from
from typing import Any, NamedTuple

from common.address import Address
from common.backoff import Backoff
from common.clock import Clock, within
from common.error_codes import ErrorCode
from common.off_loop import OffLoop
from common.zones import host_zone
from controller.model.configs import ConfigChange
from controller.model.errors import Outcome
from controller.modes import EMBEDDED
from controller.state.cluster import ClusterState
from controller.state.settings import SettingsState
from controller.state.state import State
from protocol.apis import ApiKey
from protocol.codec.errors import DecodeError
from protocol.frames import RequestFrame, decode_within, exceeds
from server.dispatch.configs import CONFIG_BOUNDS, CONFIG_REQUESTS, DEFAULT_BROKER, check_broker, key_of
from server.dispatch.context import Caller, RowError
from server.dispatch.registry import ROUTES
from server.dispatch.router import Refuse, awaited, too_large
from server.driver.driver import DriverStoppedError
from server.gateway.services import GatewayServices
from server.instances.messages import ForwardedRequest, Forwarder, NotActiveError, TermLease
from server.instances.room import LARGEST_BODY, SMALL

HOLD_SECONDS = 15.0
"""Longest time that a request waits for an active instance."""

RETRY_SECONDS = 0.2
"""Pause after an attempt without an answer, unless the switch is turned meanwhile. For a request that is not
small it doubles with each attempt: every one sends all of it."""

LEASE_SECONDS = 0.05
"""Interval of the checks whether a lapsed lease was renewed."""

GRACE_SECONDS = 0.5
"""How long an answer is awaited after the switch was turned. A peer that hands over sends its last
answers."""

REASSIGNMENT_APIS = frozenset({ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS})

BROKER_ID = re.compile("[0-9]{1,9}")

NOBODY = "No instance of reassignd is active: try again."


class ThisInstance(NamedTuple):
    """This instance is active."""

    services: GatewayServices
    lease: TermLease


class OtherInstance(NamedTuple):
    """Another instance is active."""

    address: Address
    """Its peer listener."""
    url: str
    """Its HTTP API."""


class Role(NamedTuple):
    """Who is active, from one turn of the switch to the next."""

    active: ThisInstance | OtherInstance | None
    over: asyncio.Event
    """Set by the next turn."""


class Switch:
    """Answers requests according to who is active.

    `refuse` answers requests that no one can; `off_loop` counts the rows of large ones.
    """

    def __init__(self, forwarder: Forwarder, refuse: Refuse, clock: Clock, off_loop: OffLoop) -> None:
        self._forwarder, self._refuse, self._clock, self._off_loop = forwarder, refuse, clock, off_loop
        self._role = Role(None, asyncio.Event())
        self._ids = count(1)
        self.services = GatewayServices(self.answer, refuse, self._check)
        """What the gateway uses instead of the services of one router."""

    @property
    def peer(self) -> OtherInstance | None:
        """The active instance, if it is another one."""
        active = self._role.active
        return active if isinstance(active, OtherInstance) else None

    @property
    def is_active(self) -> bool:
        """This instance is active."""
        return isinstance(self._role.active, ThisInstance)

    @property
    def url(self) -> str | None:
        """URL of the active instance's HTTP API, if it is another one."""
        peer = self.peer
        return None if peer is None else peer.url

    @property
    def turned(self) -> asyncio.Event:
        """Set when another instance is active, or none."""
        return self._role.over

    async def may_answer(self) -> bool:
        """Return whether this instance is active, after its lease was renewed if it has lapsed."""
        role = self._role
        return isinstance(role.active, ThisInstance) and await self._lease_held(role, role.active.lease)

    def serve_here(self, services: GatewayServices, lease: TermLease) -> None:
        """This instance is active. An answer leaves only while the lease is valid."""
        self._turn(ThisInstance(services, lease))

    def forward_to(self, peer: Address, url: str) -> None:
        """Another instance is active; its peer listener and the URL of its HTTP API."""
        if self._role.active != OtherInstance(peer, url):
            self._turn(OtherInstance(peer, url))

    def nobody(self) -> None:
        """No instance is active, as far as this one knows: hold requests."""
        if self._role.active is not None:
            self._turn(None)

    def _turn(self, active: ThisInstance | OtherInstance | None) -> None:
        self._role.over.set()
        self._role = Role(active, asyncio.Event())
        self._forwarder.follow(active.address if isinstance(active, OtherInstance) else None)

    def answer(self, frame: RequestFrame, caller: Caller) -> bytes | Awaitable[bytes]:
        """Answer a request of a client that the upstream has authorized.

        See `server.dispatch.router.Router.answer`.
        """
        role = self._role
        if not isinstance(role.active, ThisInstance):
            return self._answer_later(frame, caller, role, None)
        first = answer_own(role.active.services, frame, caller)
        if isinstance(first, bytes) and role.active.lease.valid:
            return first
        return self._answer_later(frame, caller, role, first)

    async def answer_forwarded(self, frame: RequestFrame, caller: Caller) -> bytes:
        """Answer a request that another instance has forwarded. Raises NotActiveError, DecodeError."""
        role = self._role
        if isinstance(role.active, ThisInstance):
            first = answer_own(role.active.services, frame, caller)
            answer = await self._answered_here(role, role.active.lease, first)
            if answer is not None:
                return answer
        raise NotActiveError

    async def _answer_later(
        self, frame: RequestFrame, caller: Caller, role: Role, first: bytes | Awaitable[bytes] | None
    ) -> bytes:
        """Try until there is an answer, or no time left.

        `first` is the answer of an attempt that has begun.
        """
        request = ForwardedRequest(next(self._ids), frame, caller)
        try:
            obstacle = await self._obstacle(frame) if first is None else None
            if obstacle is not None:
                return await awaited(self._refuse(frame, *obstacle))
            return await self._answer_in_time(request, role, first)
        except asyncio.CancelledError:
            self._forwarder.give_up(request)
            raise

    async def _obstacle(self, frame: RequestFrame) -> RowError | None:
        """Return why every instance would refuse the request, so that it is neither held nor forwarded."""
        route = ROUTES[frame.api_key]
        if len(frame.body) > LARGEST_BODY:
            return route.excess, f"The request has more than {LARGEST_BODY} bytes; use several requests."
        if len(frame.body) <= SMALL:
            return None
        too_many = await self._off_loop.run(exceeds, frame, route.request, route.bounds)
        return (route.excess, too_large(route.bounds)) if too_many else None

    async def _answer_in_time(
        self, request: ForwardedRequest, role: Role, first: bytes | Awaitable[bytes] | None
    ) -> bytes:
        until = self._clock.now() + hold_seconds(request.frame)
        small = len(request.frame.body) <= SMALL
        backoff = Backoff(RETRY_SECONDS, RETRY_SECONDS if small else HOLD_SECONDS)
        while True:
            answer = await self._attempt(role, request, first)
            if answer is not None:
                return answer
            first, left = None, until - self._clock.now()
            if left <= 0:
                break
            pause = backoff.next_pause()
            await within(self._clock, left if role.active is None else min(left, pause), role.over)
            role = self._role
        return await awaited(self._refuse(request.frame, ErrorCode.NOT_CONTROLLER, NOBODY))

    async def _attempt(
        self, role: Role, request: ForwardedRequest, first: bytes | Awaitable[bytes] | None
    ) -> bytes | None:
        """Return the answer of the active instance; None without an answer: the caller may try again."""
        active = role.active
        if isinstance(active, OtherInstance):
            return await self._unless_over(role, self._forwarded(active, request))
        if active is None:
            return None
        if first is None:
            first = answer_own(active.services, request.frame, request.caller)
        return await self._answered_here(role, active.lease, first)

    async def _forwarded(self, active: OtherInstance, request: ForwardedRequest) -> bytes | None:
        try:
            return await self._forwarder.forward(active.address, request)
        except (NotActiveError, OSError):
            return None

    async def _answered_here(
        self, role: Role, lease: TermLease, answer: bytes | Awaitable[bytes]
    ) -> bytes | None:
        """Return the answer once it may leave; None if the term has ended before."""
        if not isinstance(answer, bytes):
            made = await self._unless_over(role, _unless_stopped(answer))
            if made is None:
                return None
            answer = made
        return answer if await self._lease_held(role, lease) else None

    async def _lease_held(self, role: Role, lease: TermLease) -> bool:
        """Wait until the lease is valid; return False if the term ends before."""
        while not role.over.is_set():
            if lease.valid:
                return True
            await within(self._clock, LEASE_SECONDS, role.over)
        return False

    async def _unless_over(self, role: Role, work: Awaitable[bytes | None]) -> bytes | None:
        """Return the result of the work; None if the switch was turned and there is none soon after."""
        task, turning = asyncio.ensure_future(work), asyncio.ensure_future(role.over.wait())
        waiting: list[asyncio.Future[Any]] = [task, turning]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                waiting.append(asyncio.ensure_future(self._clock.sleep(GRACE_SECONDS)))
                await asyncio.wait([task, waiting[-1]], return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            for each in waiting:
                each.cancel()

    def _check(self, broker: str, changes: Sequence[ConfigChange]) -> Outcome:
        """Check changes of reassignd's keys.

        A standby knows neither brokers nor lists that values are appended to.

        It leaves to the active instance whether the broker exists: the id of a controller is accepted without
        a broker.
        """
        active = self._role.active
        if isinstance(active, ThisInstance):
            return active.services.check(broker, changes)
        cluster = ClusterState(controller_id=int(broker)) if BROKER_ID.fullmatch(broker) else ClusterState()
        return check_broker(State(EMBEDDED, cluster, SettingsState(host_zone)), broker, changes)


def answer_own(services: GatewayServices, frame: RequestFrame, caller: Caller) -> bytes | Awaitable[bytes]:
    """Answer a request that was forwarded, or that could be.

    Raises DecodeError, now or when awaited, for other requests and for versions that are not known.
    """
    request_class = CONFIG_REQUESTS.get(frame.api_key)
    if request_class is not None:
        request, _ = decode_within(frame, request_class, CONFIG_BOUNDS)
        if [key_of(resource) for resource in request.resources] != [DEFAULT_BROKER]:
            raise DecodeError(
                "a forwarded request for configs of other resources than the default of all brokers"
            )
    elif frame.api_key not in REASSIGNMENT_APIS:
        raise DecodeError(f"API key {frame.api_key} is not forwarded")
    return services.answer(frame, caller)


def hold_seconds(frame: RequestFrame) -> float:
    """Return how long the request may wait for an active instance: 45 and 46 begin with their timeout."""
    if frame.api_key not in REASSIGNMENT_APIS or len(frame.body) < 4:
        return HOLD_SECONDS
    (timeout_ms,) = unpack_from(">i", frame.body)
    return float(min(max(timeout_ms / 1000, 0), HOLD_SECONDS))


async def _unless_stopped(answer: Awaitable[bytes]) -> bytes | None:
    """Return the answer; None if the driver has stopped, which ends the term."""
    try:
        return await answer
    except DriverStoppedError:
        return None
