"""Java programs as Python objects: a host for Kafka's command line tools, and shells for its Java clients."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple, Self

from tools.java import java_command

HERE = Path(__file__).parent

MAIN_CLASSES = {
    "reassign": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "topics": "org.apache.kafka.tools.TopicCommand",
    "configs": "kafka.admin.ConfigCommand",
    "acls": "org.apache.kafka.tools.AclCommand",
    "leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "transactions": "org.apache.kafka.tools.TransactionsCommand",
    "features": "org.apache.kafka.tools.FeatureCommand",
    "broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
}

OLD_MAIN_CLASSES = {
    "acls": "kafka.admin.AclCommand",
    "reassign": "kafka.admin.ReassignPartitionsCommand",
    "topics": "kafka.admin.TopicCommand",
    "configs": "kafka.admin.ConfigCommand",
    "leader-election": "kafka.admin.LeaderElectionCommand",
    "log-dirs": "kafka.admin.LogDirsCommand",
    "consumer-groups": "kafka.admin.ConsumerGroupCommand",
    "console-producer": "kafka.tools.ConsoleProducer",
    "console-consumer": "kafka.tools.ConsoleConsumer",
}
"""Main classes in the broker's jar; the tools moved out of it one after the other until Kafka 4.0."""

MAIN_CLASSES_OF = {
    "4.3": MAIN_CLASSES,
    "3.9": MAIN_CLASSES | {name: OLD_MAIN_CLASSES[name] for name in ("acls", "console-producer")},
    "2.8": OLD_MAIN_CLASSES,
}
"""Main classes by version of the tools."""

TOOL_VERSIONS = ("4.3", "3.9")


class JavaProgram:
    """A Java process that answers each line of JSON with a line of JSON.

    The context manager ends the process.
    """

    def __init__(self, class_path: str, source: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            java_command(class_path, str(HERE / source), *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=180)

    def ask(self, request: Mapping[str, Any], timeout: float = 90) -> dict[str, Any]:
        """Send a request and return the answer.

        Raises EOFError if the program ends, or does not answer within `timeout` seconds.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        deadline = Timer(timeout, self._process.kill)
        deadline.start()
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            deadline.cancel()
        if not line:
            raise EOFError(f"no answer within {timeout} s to {request}")
        answer: dict[str, Any] = json.loads(line)
        return answer


class ToolResult(NamedTuple):
    """Output and exit code of a command line tool."""

    stdout: str
    stderr: str
    exit_code: int

    @property
    def lines(self) -> list[str]:
        """Return the lines of stdout that are not empty."""
        return [line for line in self.stdout.splitlines() if line.strip()]


class Tools(JavaProgram):
    """Kafka's command line tools of one version."""

    def __init__(self, version: str) -> None:
        super().__init__(f"tools-{version}", "ToolHost.java")
        self.version = version

    def run(self, tool: str, *arguments: str, stdin: str = "") -> ToolResult:
        """Run a tool by the name of its script without `kafka-`, e.g. `run("topics", "--list", ...)`."""
        main = MAIN_CLASSES_OF[self.version][tool]
        answer = self.ask({"main": main, "args": list(arguments), "stdin": stdin})
        return ToolResult(answer["stdout"], answer["stderr"], answer["exit"])


class AdminError(Exception):
    """An error of the Java Admin client; the arguments are the exception's class and message."""


class JavaShell(JavaProgram):
    """A Java program whose answers are values or errors."""

    def do(self, name: str, /, **request: Any) -> Any:
        """Send a request and return its value. Raises AdminError."""
        outcome = self.ask({"do": name, **request})
        if "error" in outcome:
            raise AdminError(outcome["error"], outcome["message"])
        return outcome["value"]


class JavaAdmin(JavaShell):
    """The Java Admin client; the requests are those of AdminShell.java."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__("tools-4.3", "AdminShell.java", bootstrap)


class JavaClient(JavaShell):
    """The Java producer and consumer; the requests are those of ClientShell.java."""

    def __init__(self, bootstrap: str, *config: Path) -> None:
        super().__init__("tools-4.3", "ClientShell.java", bootstrap, *map(str, config))


class StrimziOperators(JavaShell):
    """The requests of Strimzi's operators to Cruise Control's API; they are those of StrimziShell.java."""

    def __init__(self) -> None:
        super().__init__("tools-4.3", "StrimziShell.java")
