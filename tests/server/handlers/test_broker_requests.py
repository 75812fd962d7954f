"""Requests that the listener's broker answers: LeaderAndIsr, StopReplica, UpdateMetadata, directories."""

from typing import Any

import pytest

from protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from protocol.messages.leader_and_isr_request import LeaderAndIsrRequest
from protocol.messages.leader_and_isr_response import LeaderAndIsrResponse
from protocol.messages.stop_replica_request import StopReplicaRequest
from protocol.messages.stop_replica_response import StopReplicaResponse
from protocol.messages.update_metadata_request import UpdateMetadataRequest
from protocol.messages.update_metadata_response import UpdateMetadataResponse
from server.handlers import (
    alter_replica_log_dirs,
    describe_log_dirs,
    leader_and_isr,
    stop_replica,
    update_metadata,
)
from tests.server.fakes import FakeBroker, answer, context

MOVE = AlterReplicaLogDirsRequest([AlterReplicaLogDir("/d1", [AlterReplicaLogDirTopic("foo", (0, 1))])])


async def answered_by_broker(handler: Any, request: Any, version: int) -> Any:
    broker = FakeBroker()
    response = await answer(handler.handle, request, context(version, broker=broker))
    assert broker.told == [request]
    return response


@pytest.mark.parametrize(
    ("handler", "request_"),
    [
        (leader_and_isr, LeaderAndIsrRequest(controller_id=9)),
        (stop_replica, StopReplicaRequest(controller_id=9)),
        (update_metadata, UpdateMetadataRequest(controller_id=9)),
    ],
)
async def test_the_broker_gets_a_command_and_answers(handler: Any, request_: Any) -> None:
    assert (await answered_by_broker(handler, request_, 3)).error_code == 11


async def test_the_broker_describes_its_directories() -> None:
    response = await answered_by_broker(describe_log_dirs, DescribeLogDirsRequest(None), 4)
    assert response.results[0].log_dir == "/d0"


async def test_the_broker_moves_its_replicas_between_directories() -> None:
    assert (await answered_by_broker(alter_replica_log_dirs, MOVE, 2)).throttle_time_ms == 7


def test_a_refusal_has_the_error_alone() -> None:
    assert leader_and_isr.refuse(LeaderAndIsrRequest(), 31, "no") == LeaderAndIsrResponse(error_code=31)
    assert stop_replica.refuse(StopReplicaRequest(), 31, "no") == StopReplicaResponse(error_code=31)
    assert update_metadata.refuse(UpdateMetadataRequest(), 31, "no") == UpdateMetadataResponse(error_code=31)
    assert describe_log_dirs.refuse(DescribeLogDirsRequest(), 31, "no") == DescribeLogDirsResponse(
        error_code=31
    )


def test_a_refused_move_has_the_error_in_every_row() -> None:
    (topic,) = alter_replica_log_dirs.refuse(MOVE, 31, "no").results
    assert topic.topic_name == "foo"
    assert [tuple(row) for row in topic.partitions] == [(0, 31), (1, 31)]
