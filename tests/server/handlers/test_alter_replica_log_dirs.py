"""AlterReplicaLogDirs (34)."""

from protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from server.handlers.alter_replica_log_dirs import handle, refuse
from tests.server.fakes import FakeBroker, answer, context

REQUEST = AlterReplicaLogDirsRequest([AlterReplicaLogDir("/d1", [AlterReplicaLogDirTopic("foo", (0, 1))])])


async def test_the_addressed_broker_moves_its_replicas() -> None:
    broker = FakeBroker()
    response = await answer(handle, REQUEST, context(2, broker=broker))
    assert broker.told == [REQUEST]
    assert response.throttle_time_ms == 7


def test_a_refusal_is_repeated_on_every_row() -> None:
    (topic,) = refuse(REQUEST, 31, "no").results
    assert topic.topic_name == "foo"
    assert [tuple(row) for row in topic.partitions] == [(0, 31), (1, 31)]
