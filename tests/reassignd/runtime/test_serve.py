"""`reassignd serve` as its users have it: a process with a data directory, an exit code and lines to read."""

import json
import resource
import signal
import socket
import sqlite3
from pathlib import Path

import pytest

from reassignd.runtime import embedded_cluster
from tests.reassignd.served import PATIENCE_SECONDS, Start

pytestmark = pytest.mark.whole

TOPICS = "kafka_controller_kafkacontroller_globaltopiccount"


def test_the_ready_line_names_listeners_http_and_data(start: Start, tmp_path: Path) -> None:
    served = start()
    head, http, data = served.line.strip().split(", ")
    first, second = head.removeprefix("ready: brokers ").split(",")
    for place in (first, second, http.removeprefix("http http://")):
        host, port = place.split(":")
        socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS).close()
    assert data == f"data in {tmp_path / 'data'}"


def test_programs_get_the_addresses_as_json(start: Start, tmp_path: Path) -> None:
    ready = json.loads(start("--ready-format", "json").line)
    assert ready["bootstrap_servers"] == ",".join(ready["addresses"])
    assert (ready["kind"], len(ready["addresses"])) == ("brokers", 2)
    assert ready["records"] == f"data in {tmp_path / 'data'}"
    host, port = ready["http"].removeprefix("http://").split(":")
    socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS).close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_with_exit_code_0(start: Start, number: signal.Signals) -> None:
    code, out, err = start().end(number)
    assert (code, out) == (0, "")
    assert f"stopping on {number.name}" in err


def test_a_json_log_says_that_requests_are_served(start: Start) -> None:
    _, _, err = start("--log-format", "json").end(signal.SIGTERM)
    [serving] = [row for line in err.splitlines() if (row := json.loads(line)).get("event") == "serving"]
    assert (serving["kind"], serving["logger"]) == ("brokers", "reassignd.serve")
    assert len(serving["addresses"]) == 2


def test_it_is_healthy_and_ready_after_the_ready_line(start: Start) -> None:
    served = start()
    assert served.get("/healthz") == "ok\n"
    assert served.get("/readyz") == "ready\n"
    assert served.metric("kafka_controller_kafkacontroller_activebrokercount") == 2


def test_demo_topics_are_created_on_the_first_start_only(start: Start) -> None:
    served = start()
    assert served.metric(TOPICS) == 0
    assert served.end(signal.SIGTERM)[0] == 0
    assert start("--demo-topics").metric(TOPICS) == 0


def test_topics_survive_kill_9(start: Start) -> None:
    served = start("--demo-topics")
    assert served.metric(TOPICS) == len(embedded_cluster.TOPICS)
    assert served.end(signal.SIGKILL)[0] == -signal.SIGKILL
    assert start().metric(TOPICS) == len(embedded_cluster.TOPICS)


def test_an_acknowledged_topic_survives_kill_9(start: Start) -> None:
    served = start()
    served.create_topic("orders")
    served.end(signal.SIGKILL)
    assert start().metric(TOPICS) == 1


def test_failing_writes_end_the_process_with_a_remedy(start: Start, tmp_path: Path) -> None:
    served = start()
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    with pytest.raises(OSError, match="closed the connection"):
        served.create_topic("orders")
    code, _, err = served.end()
    assert code == 1
    assert err.splitlines()[-1].startswith(f"reassignd: records cannot be written to {tmp_path / 'data'} (")


def test_logs_can_be_json(start: Start) -> None:
    _, _, err = start("--log-format", "json").end(signal.SIGTERM)
    assert all(line.startswith('{"time": ') for line in err.splitlines())


def test_a_second_process_on_the_same_data_is_refused_with_the_pid(start: Start) -> None:
    first = start()
    assert f"is in use by process {first.process.pid}" in start().complaint()
    assert first.get("/readyz") == "ready\n"


def test_a_broker_port_in_use_is_reported_and_no_directory_is_left(start: Start, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = start("--listener", f"127.0.0.1:{port}").complaint()
    assert line == (
        f"cannot listen on 127.0.0.1:{port}: port {port} is in use; change `listener` (--listener HOST:PORT)"
    )
    assert not (tmp_path / "data").exists()


def test_an_http_port_in_use_is_reported_and_no_directory_is_left(start: Start, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = start(http=f"127.0.0.1:{port}").complaint()
    assert line == (
        f"cannot listen on 127.0.0.1:{port}: port {port} is in use; change `http.listener` (--http HOST:PORT)"
    )
    assert not (tmp_path / "data").exists()


def test_an_unusable_data_directory_is_reported(start: Start, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    assert f"data directory {tmp_path / 'data'} cannot be used" in start().complaint()


def test_damaged_records_are_reported_with_a_remedy(start: Start, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(0o700)
    (tmp_path / "data" / "records.db").write_bytes(b"no database" * 1000)
    assert "restore the directory from a backup, or move it away" in start().complaint()


def test_records_of_a_newer_version_are_refused(start: Start, tmp_path: Path) -> None:
    assert start().end(signal.SIGTERM)[0] == 0
    with sqlite3.connect(tmp_path / "data" / "records.db") as database:
        database.execute("UPDATE meta SET value = 99 WHERE name = 'format'")
    database.close()
    assert "written by a newer reassignd (format 99" in start().complaint()
