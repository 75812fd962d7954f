"""Moves between log directories, carried out in every mode: to the end, and through all kinds of trouble."""

from collections.abc import AsyncIterator, Callable, Coroutine

import pytest

from backends.client.errors import UnsupportedError
from backends.disk_moves.mover import DiskMover
from backends.embedded.cluster import EmbeddedBrokers
from common.clock import RealClock
from controller.messages.disk_events import CancelMoves, MoveDisks, OrderedMove
from controller.messages.event import Event, Reply
from controller.messages.job_events import RollBackJob
from controller.model.cluster import ResourceType
from controller.model.configs import LOG_DIRS_RATE
from controller.model.disks import MoveStage
from controller.model.jobs import Ending
from protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from protocol.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tests.backends.test_contract import AnyHarness, embedded, upstream, zookeeper
from tests.builders import key
from tests.controller.disks.directories import Directories

pytestmark = pytest.mark.whole

BACKENDS: dict[str, Callable[[], Coroutine[None, None, AnyHarness]]] = {
    "embedded": embedded,
    "upstream": upstream,
    "zookeeper": zookeeper,
}
NAMES = [f"foo-{number}" for number in range(4)]
SLOW = str(100_000)
"""Bytes per second: a replica takes ten seconds."""


@pytest.fixture(params=BACKENDS)
async def harness(request: pytest.FixtureRequest) -> AsyncIterator[AnyHarness]:
    harness = await BACKENDS[request.param]()
    await harness.having({name: [1, 2] for name in NAMES})
    yield harness
    await harness.stop()


def path(broker: int, number: int) -> str:
    return f"/embedded/broker-{broker}/logs-{number}"


def place(harness: AnyHarness, name: str, broker: int = 1) -> str | None:
    return harness.cluster.brokers[broker].log_dirs.find(key(name))


def other(harness: AnyHarness, name: str, broker: int = 1) -> str:
    return path(broker, 0) if place(harness, name, broker) == path(broker, 1) else path(broker, 1)


def copies(cluster: EmbeddedBrokers, broker: int = 1) -> list[str]:
    return [str(name) for name, _ in cluster.brokers[broker].log_dirs.futures()]


async def order(harness: AnyHarness, *names: str, throttle: int = 0) -> dict[str, str]:
    """Order moves to the other directory of broker 1; return the targets."""
    targets = {name: other(harness, name) for name in names}
    rows = [
        OrderedMove(*key(name), 1, place(harness, name) or "", target, 1_000_000)
        for name, target in targets.items()
    ]
    reply = await harness.do(MoveDisks(rows, throttle=throttle))
    assert (reply.job, list(reply.refused)) == (1, [])
    return targets


async def slowly(harness: AnyHarness) -> None:
    """Let broker 1 copy slowly, by its own config."""
    cluster = getattr(harness, "inner", harness)
    await cluster.configure_resource(ResourceType.BROKER, "1", **{LOG_DIRS_RATE: SLOW})


def ended(harness: AnyHarness, job: int = 1) -> bool:
    return job in harness.state.orders.jobs and job not in harness.state.orders.open


def rate(harness: AnyHarness, broker: int = 1) -> str | None:
    state = getattr(harness, "inner", harness).state
    value: str | None = state.settings.config(ResourceType.BROKER, str(broker), LOG_DIRS_RATE)
    return value


async def test_replicas_move_one_at_a_time(harness: AnyHarness) -> None:
    await slowly(harness)
    targets = await order(harness, *NAMES)
    most = 0
    while not ended(harness):
        await harness.advance(0.5)
        most = max(most, len(copies(harness.cluster)))
    assert most == 1
    assert {name: place(harness, name) for name in NAMES} == targets
    assert harness.state.disks.endings(1) == {Ending.DONE: 4}


async def test_a_cancel_drops_the_copy(harness: AnyHarness) -> None:
    await slowly(harness)
    before = place(harness, "foo-0")
    await order(harness, *NAMES)
    await harness.until(lambda: copies(harness.cluster) == ["foo-0"])
    assert await harness.do(CancelMoves(1)) == 4
    await harness.until(lambda: ended(harness))
    assert (copies(harness.cluster), place(harness, "foo-0")) == ([], before)


async def test_a_rollback_moves_back(harness: AnyHarness) -> None:
    before = {name: place(harness, name) for name in NAMES}
    await order(harness, *NAMES)
    await harness.until(lambda: ended(harness))
    reply = await harness.do(RollBackJob(1))
    await harness.until(lambda: ended(harness, reply.job))
    assert {name: place(harness, name) for name in NAMES} == before


async def test_a_stopped_broker_is_waited_for(harness: AnyHarness) -> None:
    await slowly(harness)
    targets = await order(harness, "foo-0", "foo-1")
    await harness.until(lambda: copies(harness.cluster) == ["foo-0"])
    await harness.stop_broker(1)
    await harness.until(lambda: "offline: broker 1" in harness.state.disks.reasons.values())
    await harness.cluster.start_broker(1)
    await harness.until(lambda: ended(harness), 120)
    assert {name: place(harness, name) for name in targets} == targets


async def test_a_deleted_topic_ends_its_moves(harness: AnyHarness) -> None:
    await slowly(harness)
    await order(harness, "foo-0", "foo-1")
    await harness.until(lambda: copies(harness.cluster) == ["foo-0"])
    await harness.delete("foo")
    await harness.until(lambda: ended(harness))
    assert harness.state.disks.endings(1) == {Ending.TOPIC_DELETED: 2}


async def test_a_replica_that_leaves_the_broker_is_taken(harness: AnyHarness) -> None:
    await slowly(harness)
    await order(harness, "foo-0")
    await harness.until(lambda: copies(harness.cluster) == ["foo-0"])
    await harness.alter({"foo-0": [2, 3]})
    await harness.until(lambda: ended(harness))
    assert harness.state.disks.endings(1) == {Ending.TAKEN: 1}


async def test_the_throttle_of_a_job_is_a_lease(harness: AnyHarness) -> None:
    await order(harness, "foo-0", throttle=200_000)
    await harness.until(lambda: copies(harness.cluster) == ["foo-0"] and rate(harness) == "200000")
    assert await harness.until(lambda: ended(harness)) > 3
    await harness.until(lambda: rate(harness) is None and not harness.state.throttle.leases)


async def test_a_throttle_of_others_stays(harness: AnyHarness) -> None:
    await slowly(harness)
    await order(harness, "foo-0", throttle=200_000)
    await harness.until(lambda: ended(harness))
    assert rate(harness) == SLOW


@pytest.mark.parametrize("harness", ["upstream"], indirect=True)
async def test_a_gateway_that_was_killed_goes_on(harness: AnyHarness) -> None:
    await slowly(harness)
    targets = await order(harness, *NAMES)
    await harness.until(lambda: place(harness, "foo-0") == targets["foo-0"])
    again = await harness.restarted()
    await again.until(lambda: ended(again), 120)
    assert {name: place(again, name) for name in NAMES} == targets
    assert again.state.disks.endings(1) == {Ending.DONE: 4}
    await again.stop()


@pytest.mark.parametrize("harness", ["upstream"], indirect=True)
async def test_a_cancel_survives_a_kill(harness: AnyHarness) -> None:
    await slowly(harness)
    await order(harness, *NAMES)
    await harness.until(lambda: copies(harness.cluster) == ["foo-0"])
    await harness.do(CancelMoves(None))
    again = await harness.restarted()
    await again.until(lambda: ended(again))
    assert copies(again.cluster) == []
    await again.stop()


class OldBrokers:
    """Brokers that show directories, and cannot move replicas between them."""

    async def describe(self, broker: int, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        topic = DescribeLogDirsTopic("foo", [DescribeLogDirsPartition(0, 10, 0, False)])
        dirs = [DescribeLogDirsResult(0, "/a", [topic]), DescribeLogDirsResult(0, "/b")]
        return DescribeLogDirsResponse(results=dirs)

    async def alter(self, broker: int, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
        raise UnsupportedError(f"broker {broker} does not serve AlterReplicaLogDirs")


async def test_a_request_without_an_answer_is_named_and_not_repeated_at_once() -> None:
    here = Directories(["foo-0"])
    here.order(("foo-0", 1, "/b"))

    async def submit(event: Event[Reply]) -> Reply:
        reply: Reply = here.controller.do(event).reply
        return reply

    mover = DiskMover(OldBrokers(), here.controller.state, submit, RealClock())
    for _ in range(2):
        await mover.look()
    assert here.reason("foo-0", 1) == "no answer of broker 1: broker 1 does not serve AlterReplicaLogDirs"
    assert here.stage() is MoveStage.WAITING
