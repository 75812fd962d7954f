"""Proposals on the embedded cluster, executed as an operator does.

Tests/upstream has the same on a real Kafka.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.reassignd.shell import SETTINGS, Shell
from tests.reassignd.whole_server.operator_day import OperatorDay
from tools.processes import Reassignd

pytestmark = pytest.mark.whole


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    server = Reassignd(tmp_path / "data", SETTINGS | {"embedded.partition.bytes": "10000"}, 4)
    server.start()
    yield Shell(server, tmp_path, capsys)
    server.kill()


def test_a_broker_is_added_factors_are_raised_and_a_broker_is_drained(shell: Shell) -> None:
    @contextmanager
    def stopped() -> Iterator[None]:
        shell.ok("broker", "stop", "4")
        shell.until(lambda: shell.json("status")["brokers"]["offline"] == [4])
        assert shell.json("status")["partitions"]["under_replicated"] == 0
        yield
        shell.ok("broker", "start", "4")

    day = OperatorDay(shell)
    day.create_topics()
    day.add_a_broker()
    day.raise_replication_factors()
    day.drain_a_broker(stopped)
