"""The command `load`."""

from typing import Any

import pytest

from reassignd import client
from reassignd.cli import main
from reassignd.commands import load
from tests.reassignd.commands.stub_client import StubClient

RATES = {"in": 3_000_000.0, "out": None, "in_busy": 5_000_000.0, "out_busy": None}
BROKER = {
    "broker": 1,
    "topic": None,
    "partition": None,
    "rates": RATES,
    "replication_in": 1_000.0,
    "replication_out": None,
    "quality": "estimated",
    "coverage": 0.5,
    "measured_ms": 1_000,
    "cpu": None,
}
OTHER = {**BROKER, "broker": 2, "rates": {**RATES, "in": 1_000_000.0}}
PARTITION = {**BROKER, "topic": "orders", "partition": 7}


def answer(**fields: Any) -> dict[str, Any]:
    return {
        "sampling": True,
        "problems": [],
        "measured_ms": 60_000,
        "coverage": 0.75,
        "all": {**RATES, "in": 4_000_000.0},
        "busy_hour": 23,
        "hours": [],
        "matched": [],
        "total": 2,
        "rows": [],
        "next": None,
        **fields,
    }


class LoadStub(StubClient):
    """Answers with the rows of a unit."""

    def __init__(self) -> None:
        self.rows, self.posted = [BROKER, OTHER], list[Any]()
        self.fields: dict[str, Any] = {}

    def get(self, path: str, **query: Any) -> Any:
        self.asked = path, query
        return answer(rows=self.rows, **self.fields)

    def post(self, path: str, body: Any) -> Any:
        self.posted.append((path, body))


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> LoadStub:
    stub = LoadStub()
    monkeypatch.setattr(client, "Client", stub)
    monkeypatch.setattr(load, "wall_clock", lambda: 90_000)
    return stub


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["load", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_brokers_are_listed_with_their_skew_and_the_busy_hour(
    stub: LoadStub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys) == [
        "in 4 MB/s, out unknown, of 75% of the partitions, 30 s ago",
        "BROKER  IN      OUT      FETCHES  SENDS    BUSY IN  QUALITY    KNOWN",
        "     1  3 MB/s  unknown  1 kB/s   unknown  5 MB/s   estimated  50%",
        "     2  1 MB/s  unknown  1 kB/s   unknown  5 MB/s   estimated  50%",
        "The broker with the most in has 1.50 times the mean",
        "The busy hour is 23:00 to 00:00 UTC: in 5 MB/s",
    ]
    assert stub.asked == ("/v1/load", {"by": "broker", "sort": "in", "limit": 20, "offset": 0})


def test_partitions_are_listed_with_their_leader(stub: LoadStub, capsys: pytest.CaptureFixture[str]) -> None:
    stub.rows, stub.fields = [PARTITION], {"next": 1, "total": 9}
    lines = printed(capsys, "partitions", "--top", "1", "--sort", "busy")
    assert lines[1].split()[:4] == ["TOPIC", "PARTITION", "LEADER", "IN"]
    assert lines[3] == "More of 9 partitions: --offset 1"


def test_what_a_prometheus_has_told_is_named(stub: LoadStub, capsys: pytest.CaptureFixture[str]) -> None:
    stub.rows = [{**BROKER, "cpu": 0.254}]
    stub.fields = {"matched": ["CPU of broker 1: Prometheus, node_cpu_seconds_total"]}
    lines = printed(capsys)
    assert lines[1].split()[-3:] == ["CPU", "QUALITY", "KNOWN"]
    assert lines[2].split()[-3:] == ["25%", "estimated", "50%"]
    assert "CPU of broker 1: Prometheus, node_cpu_seconds_total" in lines


def test_a_page_of_brokers_has_no_skew(stub: LoadStub, capsys: pytest.CaptureFixture[str]) -> None:
    stub.fields = {"total": 3, "busy_hour": None}
    assert printed(capsys, "--offset", "1")[-1].split()[0] == "2"


def test_problems_come_first_and_an_answer_without_figures_says_why(
    stub: LoadStub, capsys: pytest.CaptureFixture[str]
) -> None:
    stub.rows, stub.fields = [], {"problems": ["broker 2: late"], "measured_ms": None, "busy_hour": None}
    assert printed(capsys) == ["! broker 2: late", "Load is measured; the first round has not ended yet."]
    stub.fields = {"sampling": False, "busy_hour": None}
    assert printed(capsys) == ["Load is not measured: `reassignd load --sampling on` switches it on."]


def test_sampling_is_switched(stub: LoadStub, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "--sampling", "on")
    printed(capsys, "--prometheus", "http://there", "--prometheus-brokers", "a=1")
    printed(capsys, "--metrics-topic", "reports")
    assert stub.posted == [
        ("/v1/load", {"sampling": True}),
        ("/v1/load", {"prometheus": "http://there", "prometheus_brokers": "a=1"}),
        ("/v1/load", {"metrics_topic": "reports"}),
    ]


def test_json_is_the_answer_of_the_server(stub: LoadStub, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "-o", "json")[0].startswith('{"sampling":true')
