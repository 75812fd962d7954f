"""A standby's connection to the active instance."""

import asyncio
import logging

import pytest

from common.address import Address
from common.clock import ManualClock
from common.tasks import cancel
from protocol.apis import ApiKey
from protocol.codec.errors import DecodeError
from server.instances import listener, room
from server.instances.links import InstanceLinks
from server.instances.messages import ForwardedRequest, NotActiveError
from server.instances.stream import CHUNK, accept
from tests.server.instances.doubles import CALLER, LIST, frame_of
from tests.server.instances.sockets import SECRET, Echo, linked, listening, security

FRAME = frame_of(LIST)


def replace(each: ForwardedRequest, key: ApiKey) -> ForwardedRequest:
    return each._replace(frame=each.frame._replace(api_key=key, api_version=0))


def request(number: int = 1, body: bytes = b"body") -> ForwardedRequest:
    return ForwardedRequest(number, FRAME._replace(body=memoryview(body)), CALLER)


async def test_a_request_is_answered_over_one_connection() -> None:
    echo = Echo()
    async with listening(echo) as active, linked() as links:
        answers = await asyncio.gather(*[links.forward(active, request(n, b"%d" % n)) for n in range(1, 50)])
    assert answers == [b"answer to %d" % n for n in range(1, 50)]
    assert {instance for instance, *_ in echo.asked} == {"standby"}
    assert {client.principal for *_, client in echo.asked} == {"User:alice"}


async def test_large_requests_and_answers_pass_with_small_ones() -> None:
    large = b"x" * (3 * CHUNK + 5)
    async with listening(Echo(larger=CHUNK)) as active, linked() as links:
        one, other = await asyncio.gather(
            links.forward(active, request(1, large)), links.forward(active, request(2))
        )
    assert one.startswith(b"answer to " + large)
    assert other.startswith(b"answer to body")


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Receivers take four chunks of requests, and of answers."""
    monkeypatch.setattr(room, "MAX_FRAME", 2 * CHUNK)
    monkeypatch.setattr(listener, "LARGEST_REQUESTS", 4 * CHUNK)
    monkeypatch.setattr(listener, "LARGEST_ANSWERS", 4 * CHUNK)
    monkeypatch.setattr("server.instances.links.LARGEST_ANSWERS", 4 * CHUNK)


@pytest.mark.usefixtures("small_bounds")
async def test_many_large_requests_and_answers_keep_the_link(caplog: pytest.LogCaptureFixture) -> None:
    large = bytes(2 * CHUNK - 1_000)
    async with listening(Echo(larger=CHUNK)) as active, linked() as links:
        orders = [replace(request(n, large), ApiKey.ALTER_PARTITION_REASSIGNMENTS) for n in range(10)]
        lists = [request(n, large) for n in range(10, 20)]
        answers = await asyncio.gather(*(links.forward(active, each) for each in (*orders, *lists)))
    assert {len(each) for each in answers} == {len(b"answer to ") + len(large) + CHUNK}
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


@pytest.mark.usefixtures("small_bounds")
async def test_requests_whose_clients_leave_while_they_are_sent_keep_the_link(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with listening(Echo()) as active, linked() as links:
        await links.forward(active, request())
        for number in range(2, 12):
            asked = asyncio.create_task(links.forward(active, request(number, bytes(2 * CHUNK - 1_000))))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            await cancel(asked)
        assert await links.forward(active, request(12)) == b"answer to body"
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


async def test_lists_do_not_hold_up_orders() -> None:
    hanging = Hanging()
    async with listening(hanging) as active, linked() as links:
        lists = [asyncio.create_task(links.forward(active, request(n))) for n in range(1, 400)]
        await hanging.asked.wait()
        order = replace(request(400), ApiKey.ALTER_PARTITION_REASSIGNMENTS)
        asked = asyncio.create_task(links.forward(active, order))
        while 400 not in hanging.numbers:
            await asyncio.sleep(0.01)
        assert len(hanging.numbers) == room.LISTS_IN_FLIGHT + 1
        hanging.go_on.set()
        await asyncio.gather(asked, *lists)


@pytest.mark.parametrize(
    ("error", "raised"), [(NotActiveError(), NotActiveError), (DecodeError("too new"), DecodeError)]
)
async def test_a_refusal_of_the_peer_is_raised(error: Exception, raised: type[Exception]) -> None:
    async with listening(Echo(error=error)) as active, linked() as links:
        with pytest.raises(raised):
            await links.forward(active, request())


async def test_a_peer_that_cannot_be_reached_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async with listening(Echo()) as gone:
        pass
    async with linked() as links:
        for _ in range(3):
            with pytest.raises(ConnectionError):
                await links.forward(gone, request())
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "requests cannot be forwarded to the active instance at 127.0.0.1:" in caplog.text


async def test_another_secret_is_one_line_on_both_sides(caplog: pytest.LogCaptureFixture) -> None:
    async with listening(Echo()) as active, linked(security("standby", b"another secret!!")) as links:
        with pytest.raises(OSError, match="different shared secrets"):
            await links.forward(active, request())
        await asyncio.sleep(0)
    ours, theirs = (record.getMessage() for record in caplog.records)
    assert "different shared secrets" in ours
    assert "different shared secrets" in theirs
    assert SECRET.decode() not in caplog.text


async def test_an_instance_of_another_cluster_gets_no_requests() -> None:
    echo = Echo()
    async with listening(echo, security("active", cluster="other")) as active, linked() as links:
        with pytest.raises(OSError, match="it is a gateway of the cluster 'cluster'"):
            await links.forward(active, request())
    assert echo.asked == []


async def test_requests_fail_when_the_connection_is_lost_and_the_next_one_connects_again() -> None:
    hanging = Hanging()
    async with linked() as links:
        async with listening(hanging) as active:
            asked = asyncio.create_task(links.forward(active, request()))
            await hanging.asked.wait()
        with pytest.raises(ConnectionResetError):
            await asked
        async with listening(Echo()) as other:
            assert await links.forward(other, request()) == b"answer to body"


async def test_a_link_to_a_former_active_instance_ends_after_its_last_answer() -> None:
    hanging = Hanging()
    async with listening(hanging) as former, listening(Echo()) as active, linked() as links:
        asked = asyncio.create_task(links.forward(former, request()))
        await hanging.asked.wait()
        assert await links.forward(active, request(2)) == b"answer to body"
        assert open_links(links) == {former, active}
        hanging.go_on.set()
        assert await asked == b"late"
        assert open_links(links) == {active}


async def test_an_idle_link_to_a_former_active_instance_ends_at_once() -> None:
    async with listening(Echo()) as former, listening(Echo()) as active, linked() as links:
        for peer in (former, active, former):
            assert await links.forward(peer, request()) == b"answer to body"
            assert open_links(links) == {peer}


async def test_a_peer_that_is_silent_is_given_up() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Shake hands, and then neither read nor write."""
        stream = await accept(reader, writer, security("silent"), 1000)
        await given_up.wait()
        stream.close()

    clock, given_up = ManualClock(), asyncio.Event()
    server = await asyncio.start_server(silent, "127.0.0.1")
    async with server, linked(clock=clock) as links:
        address = Address("127.0.0.1", server.sockets[0].getsockname()[1])
        asked = asyncio.create_task(links.forward(address, request()))
        while not open_links(links):
            await asyncio.sleep(0.01)
        await clock.advance(20)
        with pytest.raises(OSError, match="nothing was received for 6 s"):
            await asked
        given_up.set()


async def test_a_link_to_the_followed_peer_is_kept_and_tells_about_the_instance() -> None:
    told: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()
    async with (
        listening(Echo(), on_status=lambda *status: told.put_nowait(status)) as active,
        linked(status=b"well") as links,
    ):
        links.follow(active)
        assert await told.get() == ("standby", b"well")
        links.follow(None)


async def test_a_peer_is_told_that_a_request_is_given_up() -> None:
    hanging = Hanging()
    async with listening(hanging) as active, linked() as links:
        asked = asyncio.create_task(links.forward(active, request(7)))
        await hanging.asked.wait()
        asked.cancel()
        links.give_up(request(7))
        assert await hanging.given_up == ("standby", 7)
        hanging.go_on.set()


class Hanging:
    """An endpoint that answers when it may go on."""

    def __init__(self) -> None:
        self.asked, self.go_on = asyncio.Event(), asyncio.Event()
        self.numbers: set[int] = set()
        self.given_up: asyncio.Future[tuple[str, int]] = asyncio.get_running_loop().create_future()

    async def answer(self, _instance: str, number: int, *_: object) -> bytes:
        self.numbers.add(number)
        self.asked.set()
        await self.go_on.wait()
        return b"late"

    def give_up(self, instance: str, number: int) -> None:
        self.given_up.set_result((instance, number))


def open_links(links: InstanceLinks) -> set[Address]:
    return set(links._links)
