"""`execute --dry-run`: the forecast of a plan, and the rate that it assumes."""

import json
import sys
from typing import Any, cast

import pytest

from common.plan_errors import PlanError
from reassignd.client import Client
from reassignd.commands.dry_run import print_forecast
from reassignd.config.errors import CommandError

pytestmark = pytest.mark.usefixtures("without_pyarrow")

MIB = 1024 * 1024
PLAN = b'{"version":1,"partitions":[{"topic":"foo","partition":0,"replicas":[2]}]}'
SNAPSHOT: list[dict[str, Any]] = [
    {"kind": "cluster", "cluster_id": "c"},
    *({"kind": "broker", "id": broker, "rack": None, "live": True} for broker in (1, 2)),
    {"kind": "partition", "topic": "foo", "partition": 0, "replicas": [1], "isr": [1], "leader": 1,
     "bytes": 10 * MIB, "min_isr": 1},
]  # fmt: skip


@pytest.fixture
def without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pyarrow", "pyarrow.compute", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)


class Server:
    """A client of a server with one partition of 10 MiB."""

    def __init__(self, rate: int | None = None, origin: str = "assumed", schedule: str | None = None) -> None:
        self.answers: dict[str, Any] = {
            "/v1/limits": {
                "limits": [],
                "bandwidth": rate,
                "rate_origin": origin,
                "set_by_others": [],
                "obstacles": [],
            },
            "/v1/schedule": {"schedule": schedule},
        }

    def get(self, path: str) -> Any:
        return self.answers[path]

    def stream(self, path: str) -> list[bytes]:
        assert path == "/v1/snapshot"
        return [json.dumps(row).encode() + b"\n" for row in SNAPSHOT]


def forecast(
    server: Server,
    plan: bytes = PLAN,
    throttle: int | None = None,
    form: str = "text",
    limits: str | None = None,
) -> int:
    return print_forecast(cast(Client, server), plan, {"throttle": throttle, "limits": limits}, form)


def test_the_forecast_has_the_moves_the_bytes_and_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert forecast(Server(), throttle=MIB) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 partition to move, 0 already at the target"
    assert "1 replica (10 MiB) to copy" in lines[1]
    assert lines[-2:] == [
        "rate: 1.05 MB/s to and from each broker, the given throttle",
        "Nothing was submitted.",
    ]


@pytest.mark.parametrize(
    ("server", "throttle", "rate"),
    [
        (Server(5), 3, (3, "the given throttle")),
        (Server(5, "throttle"), None, (5, "the throttle of the server")),
        (Server(7, "measured"), None, (7, "the rate of the fastest broker now")),
        (Server(7, "paced"), None, (7, "what pace permits now, or has permitted in the last half hour")),
        (Server(9), None, (9, "assumed, because nothing moves now")),
    ],
)
def test_the_rate_is_that_of_the_option_or_the_server(
    server: Server, throttle: int | None, rate: tuple[int, str], capsys: pytest.CaptureFixture[str]
) -> None:
    forecast(server, throttle=throttle, form="json")
    answer = json.loads(capsys.readouterr().out)
    assert (answer["rate"]["bytes"], answer["rate"]["origin"]) == rate
    assert answer["forecast"]["bytes"] == 10 * MIB


@pytest.mark.parametrize(
    ("plan", "reason"), [(b"{}", "not a plan"), (PLAN.replace(b"foo", b"bar"), "topic 'bar' of the plan")]
)
def test_an_invalid_plan_is_reported(plan: bytes, reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        forecast(Server(), plan)


def test_all_partitions_that_the_cluster_lacks_are_reported() -> None:
    plan = json.loads(PLAN)
    plan["partitions"] += [{"topic": topic, "partition": 0, "replicas": [2]} for topic in ("a", "b")]
    with pytest.raises(PlanError, match="2 entries are wrong") as caught:
        forecast(Server(), json.dumps(plan).encode())
    assert [fault[:9] for fault in caught.value.faults] == ["topic 'a'", "topic 'b'"]


@pytest.mark.parametrize(
    ("schedule", "seconds"),
    [(None, 10.0), ("00:00-24:00", 10.0), ("00:00-24:00 throttle=524288", 20.0)],
)
def test_the_time_within_the_schedule_is_shown(
    schedule: str | None, seconds: float, capsys: pytest.CaptureFixture[str]
) -> None:
    forecast(Server(schedule=schedule), throttle=MIB, form="json")
    assert json.loads(capsys.readouterr().out)["scheduled"] == {"schedule": schedule, "seconds": seconds}
    forecast(Server(schedule=schedule), throttle=MIB)
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("within the schedule")]
    assert shown == ([f"within the schedule: {seconds:.0f} s from now"] if schedule else [])


def test_rates_of_others_and_what_holds_steps_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    server = Server()
    slow = {"bytes_per_second": MIB // 2, "brokers": [2]}
    server.answers["/v1/limits"] |= {"set_by_others": [slow], "obstacles": ["all reassignments are paused"]}
    forecast(server, throttle=MIB)
    shown = capsys.readouterr().out
    assert "forecast: 20 s" in shown
    assert "rate set by others: 524 kB/s to and from broker 2, in place of that" in shown
    assert "now: all reassignments are paused" in shown
    forecast(server, form="json")
    assert json.loads(capsys.readouterr().out)["forecast"]["seconds"] == 0.105


def test_a_schedule_that_cannot_be_read_here_is_reported() -> None:
    with pytest.raises(CommandError, match="cannot be read here: 'tz=Mars' is not a time zone"):
        forecast(Server(schedule="00:00-24:00; tz=Mars"))


def test_partitions_without_a_known_size_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(f"{__name__}.SNAPSHOT", [*SNAPSHOT[:-1], {**SNAPSHOT[-1], "bytes": None}])
    forecast(Server())
    assert "sizes: not known for 1 partition to copy, counted as 0 bytes" in capsys.readouterr().out


def test_a_partition_that_is_empty_has_a_known_size(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(f"{__name__}.SNAPSHOT", [*SNAPSHOT[:-1], {**SNAPSHOT[-1], "bytes": 0}])
    forecast(Server())
    assert "sizes: " not in capsys.readouterr().out
