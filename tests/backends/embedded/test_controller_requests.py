from collections.abc import AsyncIterator
from typing import Any

import pytest

from backends.client.channel import Channel
from backends.embedded.controller_requests import ATTEMPTS, LIMIT, IsrReporter, controlled_shutdown
from common.backoff import RETRY_SECONDS, RETRY_SOON_SECONDS
from common.clock import ManualClock, settle
from common.tasks import cancel, spawn
from protocol.codec.wire import codec
from protocol.messages.alter_partition_request import AlterPartitionRequest
from protocol.messages.alter_partition_response import AlterPartitionResponse, PartitionData, TopicData
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.controlled_shutdown_response import ControlledShutdownResponse, RemainingPartition
from tests.backends.embedded.brokers import BrokerRig
from tests.builders import key, partition

LED = partition("foo-0", [1, 2, 3], isr=(1,), leader_epoch=3, partition_epoch=8)


class Controller:
    """The other end: it answers with `rows` or `error`, or is not there at all."""

    def __init__(self) -> None:
        self.rig = BrokerRig()
        self.clock = ManualClock()
        self.requests: list[AlterPartitionRequest] = []
        self.rows: list[PartitionData] = []
        self.error = 0
        self.down = False
        self.rig.update_metadata()
        self.rig.leader_and_isr(LED)
        self.caught_up_again = self.rig.caught_up_again
        self.reporter = IsrReporter(
            self.rig.broker, lambda k, f: self.caught_up_again.append((k, f)), self.connect, self.clock
        )

    async def connect(self, _host: str, _port: int) -> Channel:
        if self.down:
            raise ConnectionRefusedError
        return FakeChannel(self)

    async def report(self, *followers: int, joins: bool = True) -> list[tuple[int, ...]]:
        """Report them for foo-0; the ISRs that were asked for."""
        for follower in followers:
            self.reporter.change(key("foo-0"), follower, joins=joins)
        await settle()
        requests, self.requests = self.requests, []
        return [row.new_isr for request in requests for topic in request.topics for row in topic.partitions]

    @property
    def isr(self) -> tuple[int, ...]:
        return self.rig.broker.replicas[key("foo-0")].isr


class FakeChannel:
    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def request(self, message: Any, version: int) -> Any:
        if self._controller.down:
            raise ConnectionResetError
        wire = codec(AlterPartitionRequest, version)
        self._controller.requests.append(wire.decode(wire.encode(message)))
        return AlterPartitionResponse(
            error_code=self._controller.error, topics=[TopicData("foo", partitions=self._controller.rows)]
        )

    def close(self) -> None:
        """Nothing to let go of."""


@pytest.fixture
async def controller() -> AsyncIterator[Controller]:
    controller = Controller()
    task = spawn(controller.reporter.run(), "reporter")
    yield controller
    await cancel(task)


async def test_followers_that_join_together_are_reported_in_one_request(controller: Controller) -> None:
    assert await controller.report(3, 2) == [(1, 2, 3)]


async def test_the_request_carries_all_epochs(controller: Controller) -> None:
    controller.reporter.change(key("foo-0"), 2, joins=True)
    await settle()
    [request] = controller.requests
    [row] = request.topics[0].partitions
    assert (request.broker_id, request.broker_epoch) == (1, 7)
    assert (row.partition_index, row.leader_epoch, row.partition_epoch) == (0, 3, 8)


async def test_the_isr_in_the_response_is_stored(controller: Controller) -> None:
    controller.rows = [PartitionData(0, 0, 1, 3, (1, 2), partition_epoch=9)]
    await controller.report(2)
    assert controller.isr == (1, 2)
    assert await controller.report(3, 2) == [(1, 2, 3)]


async def test_a_follower_that_left_the_isr_must_catch_up_again(controller: Controller) -> None:
    controller.rows = [PartitionData(0, 0, 1, 3, (1, 2), partition_epoch=9)]
    await controller.report(2)
    controller.rows = [PartitionData(0, 0, 1, 3, (1,), partition_epoch=10)]
    assert await controller.report(2, joins=False) == [(1,)]
    assert (controller.isr, controller.caught_up_again) == ((1,), [(key("foo-0"), 2)])


@pytest.mark.parametrize("error", [74, 95, 107, 108, 3])
async def test_a_rejected_change_is_not_stored_and_the_follower_catches_up_again(
    controller: Controller, error: int
) -> None:
    controller.rows = [PartitionData(0, error)]
    await controller.report(2)
    assert (controller.isr, controller.caught_up_again) == ((1,), [(key("foo-0"), 2)])


async def test_a_change_without_effect_is_not_sent(controller: Controller) -> None:
    assert await controller.report(1) == []
    assert await controller.report(2, joins=False) == []


async def test_a_change_of_a_partition_with_another_leader_is_not_sent(controller: Controller) -> None:
    controller.rig.leader_and_isr(LED._replace(leader=2, leader_epoch=4))
    controller.reporter.change(key("bar-0"), 2, joins=True)
    assert await controller.report(3) == []


async def test_a_request_is_repeated_until_the_controller_responds(controller: Controller) -> None:
    controller.down = True
    assert await controller.report(2) == []
    controller.down = False
    await controller.report(3)
    await controller.clock.advance(RETRY_SOON_SECONDS)
    assert await controller.report() == [(1, 2, 3)]


async def test_a_request_with_an_error_code_is_sent_again(controller: Controller) -> None:
    controller.error = 41
    assert await controller.report(2) == [(1, 2)]
    controller.error = 0
    await controller.clock.advance(RETRY_SOON_SECONDS)
    assert await controller.report() == [(1, 2)]


async def test_the_last_change_of_a_follower_counts(controller: Controller) -> None:
    controller.down = True
    await controller.report(2)
    await controller.report(2, joins=False)
    controller.down = False
    await controller.clock.advance(RETRY_SOON_SECONDS)
    assert await controller.report() == []


async def test_many_partitions_are_sent_in_requests_of_bounded_size(controller: Controller) -> None:
    partitions = [partition(f"bar-{index}", [1, 2], isr=(1,)) for index in range(LIMIT + 1)]
    controller.rig.leader_and_isr(*partitions)
    for made in partitions:
        controller.reporter.change(made.key, 2, joins=True)
    await settle()
    assert [len(request.topics[0].partitions) for request in controller.requests] == [LIMIT, 1]


STAYS = ControlledShutdownResponse(remaining_partitions=[RemainingPartition("foo", 0)])
DONE = ControlledShutdownResponse()


async def asked(*answers: ControlledShutdownResponse | OSError) -> tuple[list[bool], int]:
    """How it ends when the controller answers so, and how often it was asked."""
    rig, clock, outcomes, requests = BrokerRig(), ManualClock(), list[bool](), list[Any]()
    rig.update_metadata()

    class Answers:
        async def request(self, message: Any, _version: int) -> Any:
            requests.append(message)
            answer = answers[len(requests) - 1]
            if isinstance(answer, OSError):
                raise answer
            return answer

        def close(self) -> None:
            """Nothing to let go of."""

    async def connect(_host: str, _port: int) -> Channel:
        return Answers()

    async def shut_down() -> None:
        outcomes.append(await controlled_shutdown(rig.broker, connect, clock))

    task = spawn(shut_down(), "shutdown")
    await clock.advance(RETRY_SECONDS * ATTEMPTS)
    await task
    assert all(request == ControlledShutdownRequest(1, 7) for request in requests)
    return outcomes, len(requests)


async def test_a_broker_without_leaderships_stops() -> None:
    assert await asked(DONE) == ([True], 1)


@pytest.mark.parametrize("first", [STAYS, ControlledShutdownResponse(error_code=41), ConnectionResetError()])
async def test_a_shutdown_is_requested_again_after_a_pause(
    first: ControlledShutdownResponse | OSError,
) -> None:
    assert await asked(first, DONE) == ([True], 2)


async def test_after_some_attempts_a_broker_stops_with_its_leaderships() -> None:
    assert await asked(STAYS, STAYS, STAYS) == ([False], ATTEMPTS)
