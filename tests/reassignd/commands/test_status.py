"""The command `instances`."""

import json
import re
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from reassignd import client
from reassignd.cli import main
from reassignd.commands.status import THROTTLED, begun_line, lines, screen, spark_line
from server.api.shared.spark import Forecast, Spark, SparkState
from tests.reassignd.commands.stub_client import StubClient

FORECAST = Forecast(
    partitions=60_000,
    steps=60_000,
    waves=12,
    replica_movements=60_000,
    leader_movements=0,
    bytes=3 * 1024**3,
    bandwidth=1024,
    seconds=7200.0,
    least_seconds=7000.0,
    waiting_partitions=0,
)


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (Spark(SparkState.MISSING, "install it"), "not found: install it"),
        (Spark(SparkState.STARTING, "", 50_000), "starting"),
        (Spark(SparkState.READY, "", 50_000), "ready for jobs of 50,000 partitions or more"),
        (Spark(SparkState.FAILED, "no memory", 1, 7, 60_000, 0), "failed on job 7: no memory"),
        (
            Spark(SparkState.ORDERED, "", 1, 7, 60_000, 0, FORECAST),
            "ordered 60,000 partitions of job 7 in 12 waves, forecast 2 h for 3 GiB",
        ),
    ],
)
def test_the_state_of_spark_is_one_line(view: Spark, said: str) -> None:
    assert spark_line(msgspec.to_builtins(view)) == said


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((300, 0, 0), "planned on Spark: 300 steps, 300 same"),
        ((1, 0, 0), "planned on Spark: 1 step, 1 same"),
        ((1_000, 20, 4), "planned on Spark: 1,024 steps, 1,000 same, 20 differ, 4 planned again"),
    ],
)
def test_the_steps_of_a_plan_are_compared_with_those_of_the_server(
    steps: tuple[int, int, int], said: str
) -> None:
    assert begun_line(dict(zip(("same", "differs", "replanned"), steps, strict=True))) == said


def test_a_plan_in_progress_shows_its_start() -> None:
    working = Spark(SparkState.WORKING, "", 1, 7, 60_000, 0)
    said = spark_line(msgspec.to_builtins(working))
    assert said.startswith("working since ")
    assert said.endswith(" on job 7: 60,000 partitions")


def status(**health: Any) -> dict[str, Any]:
    """Return the status of a large job that is under way, under all limits."""
    job: dict[str, Any] = dict.fromkeys(("undoes", "priority", "client_id", "ended_ms", "throttle"))
    job |= {"id": 1, "kind": "plan", "state": "running", "done": 7_500, "total": 100_000, "created_ms": 0}
    job |= {
        "moving": 10,
        "stalled": 0,
        "waiting": 0,
        "queued": 92_490,
        "principal": "User:ann",
        "endings": {},
        "limits": [],
    }
    copied = {"bytes": 10**12, "total": 10**13, "rate": 10**8, "seconds_left": 7_500}
    return {
        "brokers": {"live": 20, "registered": 20, "offline": [], "excluded": [], "hidden": []},
        "partitions": {"total": 100_000, "offline": 0, "under_min_isr": 0, "under_replicated": 0},
        "health": {"problems": [], "trouble": None, "holds": None, "unseen_since_ms": None} | health,
        "paused": False,
        "schedule": None,
        "pace": {"mode": "off"},
        "reassignments": {"ongoing": 92_500, "moving": 10, "stalled": 0, "waiting": 0}
        | {"queued": 92_490, "pending": 0, "others": 0},
        "jobs": [job | {"copied": copied}],
        "incoming": [{"broker": broker, **copied} for broker in range(20)],
        "reasons": [{"reason": "limit P: 10 of 10 partition movements", "partitions": 92_490}],
        "other_reasons": 0,
        "limits": [{"name": name, "limit": 10, "used": 10} for name in "RPLCB"],
        "throttle": {"bytes_per_second": 50_000_000, "set_by_others": []},
        "spark": {"state": "off"},
    }


def test_a_small_screen_shows_limits_and_throttle_and_the_progress_of_jobs() -> None:
    shown = screen(status(), 80, 15)
    text = "\n".join(shown)
    assert (len(shown), shown[-1]) == (15, "19 more lines")
    assert max(map(len, shown)) <= 80
    for word in ("P 10 (10", "50 MB/s", "LEFT", "MOVING", "QUEUED", "2 h 5 min"):
        assert word in text


def test_the_last_job_is_shown_when_nothing_moves() -> None:
    ended = {
        **status()["jobs"][0],
        "state": "ended",
        "ended_ms": 90_000,
        "endings": {"done": 24},
        "total": 24,
    }
    [line] = [line for line in lines(status() | {"last": [ended]}) if line.startswith("Last")]
    assert line.startswith("Last      job 1: done, 24 partitions in 1 min 30 s, ")
    assert line.endswith(" ago")


def test_a_large_screen_shows_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reassignd.commands.output.time", SimpleNamespace(time=lambda: 1_000.0))
    assert screen(status(), 200, 50) == lines(status(), 200)


@pytest.mark.parametrize(
    ("health", "said"),
    [
        ({"problems": ["broker 2 is offline"]}, "UNHEALTHY: broker 2 is offline"),
        ({"trouble": "missing: broker 2", "holds": 0}, "UNHEALTHY, only repairs start: missing: broker 2"),
        ({"trouble": "missing: broker 2", "holds": 1}, "UNHEALTHY, one step at a time: missing: broker 2"),
        ({"trouble": "missing: broker 2"}, "UNHEALTHY, the guard is off: missing: broker 2"),
    ],
)
def test_the_health_of_the_cluster_is_one_line(health: dict[str, Any], said: str) -> None:
    assert f"Health    {said}" in lines(status(**health))


def test_brokers_with_a_flaw_are_listed() -> None:
    brokers = {"live": 2, "registered": 4, "offline": [3, 4], "excluded": [], "hidden": [1]}
    (first, *_) = lines(status() | {"brokers": brokers})
    assert "2 of 4 brokers (offline: 3, 4; hidden from clients: 1), 100,000 partitions" in first


def test_a_stopped_broker_that_holds_nothing_is_told_from_others_that_are_offline() -> None:
    brokers = {"live": 2, "registered": 4, "offline": [3, 4], "idle": [4], "excluded": [], "hidden": []}
    (first, *_) = lines(status() | {"brokers": brokers})
    assert "2 of 4 brokers (offline: 3; offline and empty: 4), " in first


def test_the_name_of_the_cluster_comes_first() -> None:
    (first, *_) = lines(status() | {"cluster_name": "prod"})
    assert first.startswith("Cluster   prod: ")


def test_a_cluster_that_does_not_answer_is_not_called_in_sync() -> None:
    shown = lines(status(unseen_since_ms=0, trouble="connection refused", holds=0))
    assert re.match(r"Cluster   NOT SEEN for .+; as of 1970-01-01 .+: 20 of 20 brokers", shown[0])
    assert shown[1] == "Health    UNREACHABLE, no steps start: connection refused"


def test_spark_is_shown_only_where_it_is_used() -> None:
    assert not [line for line in lines(status()) if line.startswith("Spark")]
    ready = {"state": "ready", "min_partitions": 9}
    assert lines(status() | {"spark": ready})[-1] == "Spark     ready for jobs of 9 partitions or more"
    missing = {"state": "missing", "reason": "install it", "min_partitions": 100_000}
    assert lines(status() | {"spark": missing})[-1] == "Spark     not found: install it"
    assert lines(status() | {"spark": missing, "jobs": []})[-1] != "Spark     not found: install it"


@pytest.mark.parametrize(
    ("brokers", "said"),
    [
        ([1], "at broker 1"),
        ([1, 3], "at brokers 1, 3"),
        (list(range(THROTTLED + 1)), f"at {THROTTLED + 1} brokers"),
    ],
)
def test_a_throttle_of_others_is_shown_beside_that_of_reassignd(brokers: list[int], said: str) -> None:
    others = [{"bytes_per_second": 10_000_000, "brokers": brokers}]
    shown = lines(status() | {"throttle": {"bytes_per_second": None, "set_by_others": others}})
    assert f"Throttle  none; set by others: 10 MB/s {said}" in shown


def test_the_rate_that_is_in_force_is_named() -> None:
    others = [{"bytes_per_second": 7, "brokers": [3]}]
    throttle = {"bytes_per_second": 5, "source": "job 3", "set_by_others": others}
    said = "Throttle  5 B/s, of job 3; set by others: 7 B/s at broker 3 (in force there)"
    assert said in lines(status() | {"throttle": throttle})


def test_replicas_that_are_not_throttled_are_counted() -> None:
    throttle = {"bytes_per_second": 5, "set_by_others": [], "unlisted": 907}
    said = "Throttle  5 B/s; not of 907 replicas: the throttle list of their topic is full"
    assert said in lines(status() | {"throttle": throttle})


def test_a_healthy_cluster_has_no_line_about_health() -> None:
    assert not [line for line in lines(status()) if line.startswith("Health")]


def test_the_schedule_is_one_line() -> None:
    reason = "outside of the schedule until 22:00 (UTC)"
    now = {"open": False, "throttle": 5_000_000, "until_ms": 1, "reason": reason}
    assert f"Schedule  {reason}, throttle 5 MB/s" in lines(status() | {"schedule": now})


def paced(**values: Any) -> list[str]:
    """Return the lines of pace, with brokers 1 and 3."""
    broker = {"id": 1, "latency_ms": 4.2, "activity": "holding", "reason": "calm"}
    slow = {
        "id": 3,
        "latency_ms": 9.5,
        "activity": "backing off",
        "reason": "the latency is 1.6 times the target",
    }
    pace = {"mode": "auto", "target": "10 ms", "comparing": False, "problem": None, "brokers": [broker, slow]}
    return [line for line in lines(status() | {"pace": pace | values}) if line.startswith("Pace")]


def test_pace_is_one_line_with_the_slowest_broker_and_those_that_back_off() -> None:
    assert paced() == [
        (
            "Pace      at most 10 ms; now 9.5 ms at broker 3; "
            "broker 3 backs off: the latency is 1.6 times the target"
        )
    ]


def test_a_comparison_and_a_problem_of_pace_are_shown() -> None:
    assert paced(brokers=[], comparing=True, problem="the canary is refused") == [
        (
            "Pace      at most 10 ms; nothing is measured yet; "
            "moves little to measure the latency without the move"
        ),
        "Pace      the canary is refused",
    ]


ROW = {"id": "i1", "active": True, "version": "1.0", "url": "http://i1", "started_ms": 0, "lag": 0}
LIST = {"term": 4, "active_since_ms": 0, "instances": [ROW, ROW | {"id": "i2", "active": False, "lag": 9}]}


class Server(StubClient):
    """Stands in for the client, and notes the requests."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []

    def get(self, path: str) -> Any:
        self.sent.append(("GET", path))
        return LIST

    def ask(self, method: str, path: str, body: object) -> Any:
        self.sent.append((method, path))
        return {"standbys": 2}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(client, "Client", made)
    return made


def test_instances_are_shown(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instances"]) == 0
    first, head, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith("term 4, active since ")
    assert head.split() == ["INSTANCE", "ROLE", "VERSION", "STARTED", "LAG", "URL"]
    assert [row.split()[:2] for row in rows] == [["i1", "active"], ["i2", "standby"]]


def test_the_term_is_handed_over(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instances", "hand-over"]) == 0
    assert server.sent == [("POST", "/v1/instances/hand-over")]
    assert "a standby becomes active (of 2)" in capsys.readouterr().out


def test_json_is_that_of_the_api(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instances", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == LIST
    assert main(["instances", "hand-over", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"standbys": 2}


def test_jobs_that_end_by_themselves_have_a_line_each() -> None:
    restores = [{"job": 7, "until_ms": 0, "partitions": 1}, {"job": 9, "until_ms": 0, "partitions": 91}]
    found = [line for line in lines(status() | {"restores": restores}) if line.startswith("Restores")]
    assert [line.split(" at ")[0] for line in found] == [
        "Restores  job 7 will be rolled back",
        "Restores  job 9 will be rolled back",
    ]
    assert [line.rpartition(": ")[2] for line in found] == ["1 partition", "91 partitions"]
