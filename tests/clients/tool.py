"""Kafka's command line tools with the options of one server."""

import json
from pathlib import Path
from typing import Any

from tests.clients.java_programs import ToolResult, Tools

Moves = dict[str, list[list[int]]]
"""Replicas per partition, by topic."""


class Tool:
    """Runs Kafka's command line tools of one version against one server."""

    def __init__(self, tools: Tools, bootstrap: str, folder: Path) -> None:
        self.version = tools.version
        self._tools = tools
        self._bootstrap = bootstrap
        self._folder = folder

    def __call__(self, name: str, *arguments: object, stdin: str = "") -> ToolResult:
        """Run `kafka-NAME --bootstrap-server ... ARGUMENTS`."""
        strings = map(str, arguments)
        return self._tools.run(name, "--bootstrap-server", self._bootstrap, *strings, stdin=stdin)

    def reassign(self, action: str, moves: Moves, *arguments: object) -> ToolResult:
        """Run kafka-reassign-partitions with `--execute`, `--verify` or `--cancel` on these moves."""
        return self("reassign", action, "--reassignment-json-file", self.write(plan(moves)), *arguments)

    def write(self, document: Any) -> Path:
        """Write the document to a JSON file and return its path."""
        path = self._folder / "input.json"
        path.write_text(json.dumps(document))
        return path


def plan(moves: Moves) -> dict[str, Any]:
    """Return the document for `--reassignment-json-file`."""
    rows = [
        {"topic": topic, "partition": partition, "replicas": replicas}
        for topic, partitions in moves.items()
        for partition, replicas in enumerate(partitions)
    ]
    return {"version": 1, "partitions": rows}


def assignments(text: str) -> dict[str, list[int]]:
    """Return the replicas by "TOPIC-PARTITION" from a plan in JSON."""
    return {f"{row['topic']}-{row['partition']}": row["replicas"] for row in json.loads(text)["partitions"]}
