from typing import Any

import pytest

from backends.client.channel import Channel
from backends.embedded.shutdown import ATTEMPTS, RETRY_SECONDS, controlled_shutdown
from common.clock import ManualClock
from common.tasks import spawn
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.controlled_shutdown_response import ControlledShutdownResponse, RemainingPartition
from tests.backends.embedded.brokers import BrokerRig

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
