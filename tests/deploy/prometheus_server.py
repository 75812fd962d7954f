"""A Prometheus server that scrapes reassignd every second."""

import json
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.deploy.programs import program

PATIENCE_SECONDS = 60.0

CONFIG = """\
global:
  scrape_interval: 1s
  evaluation_interval: 1s
rule_files: ["{rules}"]
scrape_configs:
  - job_name: reassignd
    static_configs:
      - targets: ["{target}"]
"""


class Prometheus:
    """A running server; `url` is its address."""

    def __init__(self, url: str) -> None:
        self.url = url

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the present samples of the expression.

        Labels under `metric`, time and text under `value`.
        """
        text = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{text}", timeout=PATIENCE_SECONDS) as answer:
            rows: list[dict[str, Any]] = json.load(answer)["data"]["result"]
            return rows

    def value(self, expression: str) -> float:
        """Return the one sample of the expression; wait until there is one."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            rows = self.query(expression)
            if rows:
                [row] = rows
                return float(row["value"][1])
            time.sleep(0.2)
        raise AssertionError(f"{expression} has no sample after {PATIENCE_SECONDS} s")

    def rules(self) -> dict[str, str]:
        """Return the health of each rule by name."""
        with urllib.request.urlopen(f"{self.url}/api/v1/rules", timeout=PATIENCE_SECONDS) as answer:
            groups = json.load(answer)["data"]["groups"]
        return {rule["name"]: rule["health"] for group in groups for rule in group["rules"]}


@contextmanager
def scraping(target: str, rules: Path, folder: Path) -> Iterator[Prometheus]:
    """Run a Prometheus that scrapes `HOST:PORT` and evaluates the rules, until the end of the block."""
    with running(CONFIG.format(rules=rules, target=target), folder) as server:
        yield server


def write_blocks(series: str, folder: Path) -> None:
    """Write series, in the OpenMetrics format, as blocks of the server that runs in this folder."""
    text = folder / "series.txt"
    text.write_text(series, "utf-8")
    command = [program("promtool", "prometheus"), "tsdb", "create-blocks-from", "openmetrics"]
    subprocess.run([*command, str(text), str(folder / "data")], check=True, capture_output=True)


@contextmanager
def running(text: str, folder: Path) -> Iterator[Prometheus]:
    """Run a Prometheus with this configuration until the end of the block. Its blocks are in `data`."""
    binary = program("prometheus")
    config = folder / "prometheus.yml"
    config.write_text(text, "utf-8")
    port = _free_port()
    process = subprocess.Popen(
        [
            binary,
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_ready(url)
        yield Prometheus(url)
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port: int = held.getsockname()[1]
        return port


def _wait_until_ready(url: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            urllib.request.urlopen(f"{url}/-/ready", timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
