"""Errors at the start of the gateway: one line, and exit code 1."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tools.kafka_cluster import KafkaCluster
from tools.ports import free_port, free_ports
from tools.processes import Reassignd


@pytest.fixture
def serve(kafka: KafkaCluster, tmp_path: Path) -> list[str]:
    """A valid command line of the gateway."""
    command = [sys.executable, "-m", "reassignd", "serve", "--backend", "upstream"]
    listeners = ["--listener", f"127.0.0.1:{free_ports(5)}", "--http", f"127.0.0.1:{free_port()}"]
    return [*command, "--bootstrap-server", kafka.bootstrap, "--data-dir", str(tmp_path), *listeners]


def last_error_line(*command: str) -> str:
    """Run a command that must exit with code 1, and return the last line of stderr."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_a_listener_port_in_use_is_reported(serve: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        message = last_error_line(*serve, "--listener", f"127.0.0.1:{port}")
    assert f"cannot listen on 127.0.0.1:{port}: port {port} is in use; change `listener`" in message


def test_an_upstream_that_is_a_gateway_is_refused(serve: list[str], gateway: Reassignd) -> None:
    message = last_error_line(*serve, "--bootstrap-server", gateway.bootstrap)
    assert "that is a gateway of reassignd; give Kafka's own brokers as --bootstrap-server" in message


def test_an_invalid_file_of_gateway_ports_is_reported(serve: list[str], tmp_path: Path) -> None:
    (tmp_path / "gateway-ports.json").write_text("{")
    assert f"cannot read the ports of brokers in {tmp_path / 'gateway-ports.json'}" in last_error_line(*serve)
