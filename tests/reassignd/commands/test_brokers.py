"""The commands `brokers` and `topics`."""

from typing import Any

import pytest

from reassignd import client
from reassignd.cli import main
from tests.reassignd.commands.stub_client import StubClient

BROKER = {
    "id": 2,
    "host": "kafka-2",
    "port": 9092,
    "rack": "a",
    "state": "offline",
    "replicas": 1_200,
    "leaders": 0,
    "preferred": 400,
    "bytes": 1024**3,
    "unsized": 2,
    "lagging": 1_200,
    "moving_in": 3,
    "moving_out": 0,
    "coming": 5,
    "going": 0,
    "rate_in": 50_000_000,
    "rate_out": None,
    "hidden": False,
    "disk_total": 4 * 1024**3,
    "disk_used": 1024**3,
    "cordoned": True,
    "excluded": False,
    "empty": False,
    "log_dirs": [
        {"path": "/a", "works": False, "total": None, "used": None, "cordoned": False, "excluded": True}
    ],
}
TOPIC = {
    "topic": "orders",
    "partitions": 12,
    "least_replicas": 2,
    "most_replicas": 3,
    "bytes": 1024,
    "replica_bytes": 3072,
    "unsized": 0,
    "moving": 1,
    "reassigning": 3,
    "under_replicated": 0,
    "offline": 0,
    "deleting": False,
}
PARTITION = {
    "topic": "orders",
    "partition": 7,
    "state": "moving",
    "health": "in sync",
    "replicas": [1, 2],
    "isr": [1, 2],
    "leader": None,
    "min_isr": 1,
    "size": 1024,
    "target": [2, 3],
    "job": 4,
    "reason": "",
}


class Server(StubClient):
    """Answers with one broker, topic and partition, and records what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, object]]] = []

    def get(self, path: str, **query: object) -> Any:
        given = {name: value for name, value in query.items() if value is not None}
        self.asked.append((path, given))
        page = {"total": 1, "next": None}
        match path:
            case "/v1/brokers":
                return {"total": 60, "next": 50, "brokers": [BROKER]}
            case "/v1/brokers/2":
                return {"broker": BROKER | {"empty": True}}
            case "/v1/topics":
                return page | {"topics": [TOPIC]}
        return page | {"topic": TOPIC, "partitions": [PARTITION]}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setattr(client, "Client", server)
    return server


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(arguments) == 0
    return capsys.readouterr().out.splitlines()


def test_brokers_show_what_they_hold_and_move(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--rack", "a", "--sort", "disk", "--descending", "--search", "kafka"]
    head, row, more = shown(capsys, "brokers", *options)
    assert head.endswith("REPLICAS  LEADERS  BYTES   DISK          IN  RATE IN")
    assert row.split("  ")[-3:] == ["25% of 4 GiB", " 3", "50 MB/s"]
    assert "1 GiB+" in row
    assert more == "More of 60 brokers: --offset 50"
    asked = {"rack": "a", "sort": "disk", "descending": True, "q": "kafka", "limit": 50, "offset": 0}
    assert server.asked == [("/v1/brokers", asked)]


@pytest.mark.usefixtures("server")
def test_wide_brokers_have_all_columns(capsys: pytest.CaptureFixture[str]) -> None:
    [row, _] = shown(capsys, "brokers", "-o", "wide", "--no-headers")
    assert row.split()[-5:] == ["400", "1,200", "5", "0", "cordoned"]


@pytest.mark.usefixtures("server")
def test_a_broker_has_its_log_directories(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, "brokers", "2")
    assert lines[3:5] == ["LOG DIR  STATE             DISK", "/a       failed, excluded"]
    assert lines[-1] == "It holds nothing. Ask `reassignd drained 2` before you stop it."


def test_topics_show_what_they_hold_and_move(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "topics", "--search", "ord", "--state", "moving") == [
        "TOPIC   PARTITIONS  FACTOR  BYTES  MOVING  WAITING",
        "orders          12  2 to 3  3 KiB       1        2",
    ]
    assert server.asked == [("/v1/topics", {"q": "ord", "state": "moving", "limit": 50, "offset": 0})]


def test_a_topic_has_its_partitions(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "topics", "orders", "--broker", "3")[3:] == [
        "PARTITION  HEALTH   STATE   LEADER  REPLICAS  TARGET  SIZE   JOB",
        "        7  in sync  moving  none    [1,2]     [2,3]   1 KiB    4",
    ]
    assert server.asked == [("/v1/topics/orders", {"broker": 3, "limit": 50, "offset": 0})]


@pytest.mark.parametrize("arguments", [["--broker", "3"], ["orders", "--search", "x"]])
def test_options_of_a_topic_and_of_the_list_are_not_mixed(arguments: list[str]) -> None:
    assert main(["topics", *arguments]) == 2


def test_a_broker_has_no_options_of_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["brokers", "2", "--search", "x", "--limit", "3"]) == 2
    message = "reassignd: --search and --limit: only for the list of brokers; leave out BROKER\n"
    assert capsys.readouterr().err == message
