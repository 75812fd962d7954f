"""A shell for tests: commands against a server of its own, with a topic of 200 partitions."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from backends.client.channel import connect
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from reassignd import cli
from tools.processes import Reassignd

PARTITIONS = 200
PATIENCE_SECONDS = 60
SETTINGS = {
    "embedded.partition.bytes": "100000",
    "embedded.network.bytes.per.second": "2000000",
    "embedded.tick.ms": "20",
}
SLOW = {**SETTINGS, "embedded.network.bytes.per.second": "200000"}


class Result(NamedTuple):
    """The output of a command, and its exit code."""

    code: int
    out: str
    err: str


class Shell:
    """Runs commands against one server."""

    def __init__(self, server: Reassignd, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.server, self._folder, self._capsys = server, folder, capsys
        self.url = f"http://{server.http}"

    def run(self, *arguments: str) -> Result:
        self._capsys.readouterr()
        code = cli.main([*arguments, "--url", self.url])
        return Result(code, *self._capsys.readouterr())

    def ok(self, *arguments: str) -> str:
        result = self.run(*arguments)
        assert result.code == 0, result
        return result.out

    def json(self, *arguments: str) -> Any:
        return json.loads(self.ok(*arguments, "--format", "json"))

    def plan(self, numbers: Sequence[int], shift: int = 3, topic: str = "foo") -> str:
        """A file with a plan that moves these partitions `shift` brokers on."""
        rows = [
            {"topic": topic, "partition": number, "replicas": replicas_of(number, shift)}
            for number in numbers
        ]
        path = self._folder / f"plan-{shift}-{len(rows)}.json"
        path.write_text(json.dumps({"version": 1, "partitions": rows}))
        return str(path)

    def execute(self, numbers: Sequence[int], shift: int = 3, *options: str) -> int:
        file = self.plan(numbers, shift)
        answer = self.json("execute", "--reassignment-json-file", file, *options)
        job: int = answer["job"]
        return job

    def replicas(self) -> list[list[int]]:
        rows = map(json.loads, self.ok("snapshot").splitlines())
        return [row["replicas"] for row in rows if row["kind"] == "partition"]

    def moves(self) -> dict[str, int]:
        found: dict[str, int] = self.json("status")["reassignments"]
        return found

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < deadline, self.json("status")
            time.sleep(0.05)


def replicas_of(number: int, shift: int = 0) -> list[int]:
    """Three of six brokers in a row."""
    return [(number + shift + place) % 6 + 1 for place in range(3)]


ORIGINALS = [replicas_of(number) for number in range(PARTITIONS)]


def create_placed_topic(bootstrap: str, name: str, partitions: int, factor: int) -> None:
    """Create a topic whose replicas the server places."""
    _ask(bootstrap, CreateTopicsRequest([CreatableTopic(name, partitions, factor)]))


def create_topic(bootstrap: str, originals: Sequence[Sequence[int]] = ORIGINALS, name: str = "foo") -> None:
    assignments = [
        CreatableReplicaAssignment(number, tuple(replicas)) for number, replicas in enumerate(originals)
    ]

    _ask(bootstrap, CreateTopicsRequest([CreatableTopic(name, -1, -1, assignments)]))


def _ask(bootstrap: str, request: CreateTopicsRequest) -> None:
    host, _, port = bootstrap.rpartition(":")

    async def ask() -> None:
        channel = await connect(host, int(port), PATIENCE_SECONDS)
        try:
            response = await channel.request(request, 2)
            assert response.topics[0].error_code == 0
        finally:
            channel.close()

    asyncio.run(ask())


def started(data_dir: Path, settings: dict[str, str]) -> Reassignd:
    server = Reassignd(data_dir, settings)
    server.start()
    create_topic(server.bootstrap)
    return server
