"""kafka-reassign-partitions and its fellows, called as an operator would."""

import json
from pathlib import Path
from typing import Any

from tests.clients.java_programs import ToolResult, Tools

Moves = dict[str, list[list[int]]]
"""Replicas per partition, by topic."""


class Tool:
    """Kafka's command line tools of one version, pointed at one server."""

    def __init__(self, tools: Tools, bootstrap: str, folder: Path) -> None:
        self.version = tools.version
        self._tools = tools
        self._bootstrap = bootstrap
        self._folder = folder

    def __call__(self, name: str, *arguments: object, stdin: str = "") -> ToolResult:
        """Runs `kafka-NAME --bootstrap-server ... ARGUMENTS`."""
        strings = map(str, arguments)
        return self._tools.run(name, "--bootstrap-server", self._bootstrap, *strings, stdin=stdin)

    def reassign(self, action: str, moves: Moves, *arguments: object) -> ToolResult:
        """Runs kafka-reassign-partitions with `--execute`, `--verify` or `--cancel` on these moves."""
        return self("reassign", action, "--reassignment-json-file", self.write(plan(moves)), *arguments)

    def write(self, document: Any) -> Path:
        """A JSON file with this document."""
        path = self._folder / "input.json"
        path.write_text(json.dumps(document))
        return path


def plan(moves: Moves) -> dict[str, Any]:
    """The document that `--reassignment-json-file` wants."""
    rows = [
        {"topic": topic, "partition": partition, "replicas": replicas}
        for topic, partitions in moves.items()
        for partition, replicas in enumerate(partitions)
    ]
    return {"version": 1, "partitions": rows}


def assignments(text: str) -> dict[str, list[int]]:
    """The replicas by "TOPIC-PARTITION" in a line of JSON that the tool printed."""
    return {f"{row['topic']}-{row['partition']}": row["replicas"] for row in json.loads(text)["partitions"]}
