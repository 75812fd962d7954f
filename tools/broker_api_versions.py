"""The APIs of Kafka's brokers with their versions, as the brokers list them.

`python -m tools.broker_api_versions`.

The command starts a broker of each version (it needs Java) and writes `tools/broker_api_versions.json`, which
`tools.served_apis` shows in the docs. Most names of APIs come from kafka-python.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from protocol.generate import KAFKA_PYTHON, kafka_python, load
from protocol.messages.api_versions_request import ApiVersionsRequest
from server.metrics.metric import OTHER_NAMES
from tools.kafka_cluster import running_kafka
from tools.kafka_settings import Spec
from tools.raw_connection import RawConnection

FILE = Path(__file__).with_suffix(".json")
KAFKAS = ("4.1", "4.3")

Versions = dict[int, tuple[int, int]]
"""API key -> lowest and highest version."""


def listed(bootstrap: str) -> Versions:
    """Return the APIs that the broker lists."""
    connection = RawConnection(bootstrap)
    try:
        answer = connection.ask(ApiVersionsRequest("tools", "1"), 3)
    finally:
        connection.close()
    return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}


def recorded() -> dict[str, Versions]:
    """Return what the file has by Kafka's version."""
    return {
        kafka: {int(key): (low, high) for key, (low, high, _) in rows.items()}
        for kafka, rows in _rows().items()
    }


def names() -> dict[int, str]:
    """Return the names of all APIs in the file."""
    return {int(key): name for rows in _rows().values() for key, (_, _, name) in rows.items()}


def _rows() -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = json.loads(FILE.read_text("utf-8"))
    return rows


def _schema_names() -> dict[int, str]:
    """Return the names of APIs by key, from the schemas of kafka-python."""
    found = {}
    for path in sorted((kafka_python() / KAFKA_PYTHON).glob("*Request.json")):
        key = re.search(r'"apiKey": *(\d+)', path.read_text("utf-8"))
        if key is not None:
            found[int(key[1])] = str(load(path.read_text("utf-8"))["name"]).removesuffix("Request")
    return found


def main() -> int:
    """Measure, and write the file."""
    known = OTHER_NAMES | _schema_names()
    rows = {}
    for version in KAFKAS:
        with running_kafka(Spec(1, version)) as kafka:
            rows[version] = {
                str(key): [low, high, known.get(key, f"API {key}")]
                for key, (low, high) in sorted(listed(kafka.bootstrap).items())
            }
    lines = [
        f'"{version}": {{\n'
        + ",\n".join(f'  "{key}": {json.dumps(row)}' for key, row in table.items())
        + "\n}"
        for version, table in rows.items()
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
