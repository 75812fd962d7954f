"""What an operator does with several instances, with the chart's commands and Kafka's tool.

Run it with `python -m campaigns.operator_trial`. It needs helm (`python -m tools.kubernetes`) and Java, and
takes about five minutes.

Before a real cluster of three brokers: a gateway with a data directory accepts a plan of 2,000 partitions.
Its records are moved to a topic while the plan runs, and two instances go on with it: the processes that the
chart's Deployment describes, behind one name. The active one is killed three times. A second plan moves
everything back, meanwhile all instances are replaced as by a rolling update, and the records are moved to a
data directory again. The tool executes, lists and verifies. Each part is timed. With `--old-tree`, the
instances before the update run the code of another working tree, so two versions run beside each other.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import yaml

from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tools import kubernetes
from tools.java import java_command
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import Spec
from tools.ports import free_ports
from tools.raw_connection import RawConnection
from tools.shared_name import SharedName
from tools.waiting import wait_until

TREE = Path(__file__).resolve().parents[1]
CHART = TREE / "deploy" / "helm" / "reassignd"
TOOL = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
SETTINGS = {"transaction.state.log.replication.factor": "3", "transaction.state.log.min.isr": "2"}
TOPICS, PER_TOPIC = 4, 500
SERVICE, DIRECTORY_HOST, POD_HOSTS = "127.0.9.1", "127.0.9.2", tuple(f"127.0.9.{n}" for n in range(3, 13))
"""The address of the Service, and those of the processes."""
MOVING = 2
"""Limit on partition movements: the plans must last."""
KILLS = 3
READY_SECONDS = 120.0


class TrialError(Exception):
    """A part of the trial failed."""


@contextmanager
def part(name: str) -> Iterator[None]:
    """Print the name of a part and its time."""
    begun = time.monotonic()
    yield
    print(f"{time.monotonic() - begun:7.1f} s  {name}", flush=True)


def values(kafka: KafkaCluster, ports: int) -> dict[str, Any]:
    """Return the values of the chart.

    `ports` is the first of the Kafka ports; HTTP has the one after them.
    """
    brokers = len(kafka.brokers)
    return {
        "upstream": {"bootstrapServers": kafka.addresses()},
        "image": {"repository": "registry.example.com/reassignd"},
        "state": {"kind": "topic", "peerSecret": "peers"},
        "http": {"tokenSecret": {"name": "token"}, "port": ports + 1 + brokers},
        "listener": {"port": ports, "brokers": brokers, "advertisedHost": SERVICE},
        "config": {"log.level": "INFO"},
    }


def rendered(chosen: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the objects of the chart by kind."""
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(chosen))
    options = ["--kube-version", kubernetes.KUBERNETES, "--values", str(file)]
    command = [str(kubernetes.HELM), "template", "my", str(CHART), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TrialError(done.stderr)
    return {each["kind"]: each for each in yaml.safe_load_all(done.stdout) if each}


class Pod:
    """A process as the Deployment describes it, on an address of its own.

    It runs the code of a working tree.
    """

    def __init__(self, chart: dict[str, Any], secrets: Path, folder: Path, host: str, tree: Path) -> None:
        [container] = chart["Deployment"]["spec"]["template"]["spec"]["containers"]
        self._tree = tree
        self.host, self._probe = host, container["readinessProbe"]["httpGet"]
        ports = {each["name"]: each["containerPort"] for each in container["ports"]}
        self.http = f"{host}:{ports[self._probe['port']]}"
        self.log = folder / f"{host}.log"
        home = folder / host
        (home / "config").mkdir(parents=True)
        (home / "tmp").mkdir()
        mounts = {"/config": home / "config", "/tmp": home / "tmp", "/secrets": secrets}  # noqa: S108

        def mounted(text: str) -> str:
            found = re.sub(r"(/config|/tmp|/secrets)/", lambda match: f"{mounts[match[1]]}/", text)
            return found.replace("0.0.0.0", host)  # noqa: S104 (each process has its own address)

        for name, text in chart["ConfigMap"]["data"].items():
            (home / "config" / name).write_text(mounted(text))
        environment = {each["name"]: each.get("value", host) for each in container["env"]}
        self._environment = {
            name: mounted(value.replace("$(POD_IP)", host)) for name, value in environment.items()
        } | {"TMPDIR": str(home / "tmp"), "PATH": os.environ["PATH"]}
        self._arguments = [mounted(each) for each in container["args"]]
        self._process: subprocess.Popen[bytes]

    def start(self) -> None:
        """Start the process and wait until it is ready."""
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "reassignd", *self._arguments]
            self._process = subprocess.Popen(
                command, cwd=self._tree, env=self._environment, stdout=log, stderr=log
            )
        wait_until(lambda: self.probe()[0] == 200, lambda: f"{self.host} to be ready: {self.tail}", 0.05)

    def probe(self) -> tuple[int, str]:
        """Return what the readiness probe gets: status and text; 0 without an answer."""
        connection = HTTPConnection(self.http, timeout=5)
        try:
            connection.request("GET", self._probe["path"])
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, HTTPException):
            return 0, ""
        finally:
            connection.close()

    @property
    def is_active(self) -> bool:
        """Whether this is the active instance."""
        return "role: active" in self.probe()[1]

    @property
    def tail(self) -> str:
        """The end of the log."""
        return self.log.read_text()[-2000:]

    def kill(self) -> None:
        """Send SIGKILL, if the process runs."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Send SIGTERM, and wait for the end. Raises TrialError unless it was clean."""
        self._process.send_signal(signal.SIGTERM)
        if self._process.wait(30):
            raise TrialError(f"{self.host} ended with {self._process.returncode}: {self.tail}")


class Trial:
    """The cluster, the name, and what runs behind it. New processes run the code of `tree`."""

    def __init__(self, kafka: KafkaCluster, folder: Path, tree: Path) -> None:
        self.kafka, self.folder, self.tree = kafka, folder, tree
        self.ports = free_ports(len(kafka.brokers) + 2)
        self.bootstrap = f"{SERVICE}:{self.ports}"
        self.http = f"{SERVICE}:{self.ports + 1 + len(kafka.brokers)}"
        self._secrets = folder / "secrets"
        for name in ("peer/secret", "token/token"):
            file = self._secrets / name
            file.parent.mkdir(parents=True)
            file.touch(0o600)
            file.write_text(os.urandom(32).hex())
        self._chart = rendered(values(kafka, self.ports), folder)
        self._hosts = iter(POD_HOSTS)
        self.pods: list[Pod] = []
        self._gateway: subprocess.Popen[bytes] | None = None

    def end(self) -> None:
        """Kill what runs."""
        for pod in self.pods:
            pod.kill()
        if self._gateway is not None:
            self._gateway.kill()
            self._gateway.wait()

    def new_pod(self) -> Pod:
        """Start a further instance."""
        pod = Pod(self._chart, self._secrets, self.folder, next(self._hosts), self.tree)
        self.pods.append(pod)
        pod.start()
        return pod

    def start_gateway(self, data: Path) -> None:
        """Start a gateway with a data directory, and wait until it is ready."""
        command = self._gateway_command(data)
        with (self.folder / "gateway.log").open("ab") as log:
            self._gateway = gateway = subprocess.Popen(
                command, cwd=self.tree, stdout=subprocess.PIPE, stderr=log
            )
        assert gateway.stdout is not None
        line = gateway.stdout.readline().decode()
        if not line.startswith("ready: "):
            raise TrialError(
                f"the gateway did not start: {(self.folder / 'gateway.log').read_text()[-2000:]}"
            )

    def _gateway_command(self, data: Path) -> list[str]:
        http = self.http.replace(SERVICE, DIRECTORY_HOST)
        token = self._secrets / "token" / "token"
        return [
            *(sys.executable, "-m", "reassignd", "serve", "--backend", "upstream", "--data-dir", str(data)),
            *("--bootstrap-server", self.kafka.addresses(), "--listener", f"{DIRECTORY_HOST}:{self.ports}"),
            *("--http", http, "--override", f"http.token.file={token}"),
            *("--override", f"advertised.host={SERVICE}"),
            *("--override", f"gateway.ports={len(self.kafka.brokers)}"),
        ]

    def stop_gateway(self) -> None:
        """Stop the gateway with the data directory."""
        assert self._gateway is not None
        self._gateway.send_signal(signal.SIGTERM)
        if self._gateway.wait(30):
            raise TrialError("the gateway did not stop cleanly")

    def refuses(self, data: Path) -> str:
        """Start a gateway that must refuse the directory; return its line."""
        done = subprocess.run(
            self._gateway_command(data), capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode == 0:
            raise TrialError("the directory can still be used")
        return done.stderr.strip().splitlines()[-1]

    def command(self, *arguments: str) -> str:
        """Run `reassignd` with these arguments; return its output."""
        command = [sys.executable, "-m", "reassignd", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TrialError(f"reassignd {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def ask(self, *arguments: str) -> str:
        """Run a command of `reassignd` that asks the server behind the name."""
        token = ("--token-file", str(self._secrets / "token" / "token"))
        return self.command(*arguments, "--url", f"http://{self.http}", *token)

    def tool(self, *arguments: str) -> str:
        """Run kafka-reassign-partitions; return its output."""
        command = java_command(
            "tools-4.3", TOOL, "--bootstrap-server", self.bootstrap, *arguments, heap_mb=256
        )
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TrialError(
                f"kafka-reassign-partitions {arguments}: {done.stdout[-1000:]} {done.stderr[-2000:]}"
            )
        return done.stdout

    def execute(self, plan: Path) -> None:
        """Submit the plan by the tool."""
        said = self.tool("--reassignment-json-file", str(plan), "--execute")
        if "Successfully started partition reassignments" not in said:
            raise TrialError(said[-2000:])

    def listed(self) -> int:
        """Return how many partitions the tool lists as moving."""
        return sum("replicas:" in line for line in self.tool("--list").splitlines())

    def must_run(self) -> None:
        """Raise TrialError if the plan has ended: the part before would prove nothing."""
        if not (left := self.listed()):
            raise TrialError("the plan has ended too soon")
        print(f"           --list shows {left:,} partitions")

    def wait_for_end(self) -> None:
        """Wait until the tool lists nothing."""
        deadline = time.monotonic() + 300
        while self.listed():
            if time.monotonic() > deadline:
                raise TrialError(self.ask("status"))
            time.sleep(1)

    def verify(self, plan: Path) -> None:
        """Check by the tool that all partitions have their target."""
        said = self.tool("--reassignment-json-file", str(plan), "--verify")
        complete = said.count("is completed.")
        if complete != TOPICS * PER_TOPIC:
            raise TrialError(f"{complete} partitions are complete: {said[-2000:]}")

    def active(self) -> Pod:
        """Return the active instance, once there is one."""
        found: list[Pod] = []

        def one_is_active() -> bool:
            found[:] = [pod for pod in self.pods if pod.is_active]
            return bool(found)

        wait_until(one_is_active, lambda: "an active instance", 0.02)
        return found[0]


def create_topics(kafka: KafkaCluster) -> None:
    """Create the topics on brokers 1 and 2."""
    rows = [CreatableReplicaAssignment(number, (1, 2)) for number in range(PER_TOPIC)]
    topics = [CreatableTopic(f"topic-{number}", -1, -1, rows) for number in range(TOPICS)]
    answer = RawConnection(kafka.bootstrap).ask(CreateTopicsRequest(topics, 100_000), 7)
    assert {each.error_code for each in answer.topics} == {0}, answer
    # A broker that still creates replicas does not know newer topics.
    for broker in kafka.brokers:
        connection = RawConnection(kafka.address(broker))
        synced = partial(in_sync, connection)
        wait_until(lambda: synced() == TOPICS * PER_TOPIC, lambda: "the topics to be in sync", 0.5)  # noqa: B023
        connection.close()


def in_sync(connection: RawConnection) -> int:
    """Return how many partitions have all replicas in sync, as the broker knows them."""
    topics = [MetadataRequestTopic(name=f"topic-{number}") for number in range(TOPICS)]
    answer = connection.ask(MetadataRequest(topics, allow_auto_topic_creation=False), 9)
    rows = [row for topic in answer.topics for row in topic.partitions]
    return sum(len(row.isr_nodes) == len(row.replica_nodes) for row in rows)


def write_plan(path: Path, replicas: Sequence[int]) -> Path:
    """Write a plan for all partitions in the form of Kafka's tool."""
    rows = [
        {"topic": f"topic-{topic}", "partition": number, "replicas": list(replicas)}
        for topic in range(TOPICS)
        for number in range(PER_TOPIC)
    ]
    path.write_text(json.dumps({"version": 1, "partitions": rows}))
    return path


def to_the_topic(trial: Trial, data: Path) -> None:
    """Move the records of the directory to the topic, and start two instances."""
    with part("the gateway is stopped, and its records are moved to the topic"):
        trial.stop_gateway()
        moved = trial.command(
            "state", "import", "--data-dir", str(data), "--bootstrap-server", trial.kafka.addresses()
        )
        print(f"           {moved.strip()}")
        print(f"           {trial.refuses(data)}")
    with part("two instances are started from the chart"):
        trial.new_pod()
        trial.new_pod()
        trial.must_run()


def kill_the_active_one(trial: Trial) -> None:
    """Kill the active instance KILLS times, and start it again."""
    for number in range(1, KILLS + 1):
        active = trial.active()
        with part(f"kill {number}: until the other instance is active"):
            active.kill()
            trial.active()
        trial.must_run()
        active.start()
    print(trial.ask("instances"))


def update(trial: Trial) -> None:
    """Replace each instance as a rolling update does: start a new one of this tree, then stop an old one."""
    trial.tree = TREE
    for old in list(trial.pods):
        was_active = old.is_active
        with part(
            f"update: a new instance is ready, and the {'active' if was_active else 'standby'} one stopped"
        ):
            trial.new_pod()
            old.stop()
            trial.pods.remove(old)
            trial.active()
        trial.must_run()


def to_a_directory(trial: Trial, data: Path) -> None:
    """Stop all instances, and move the records to a new directory."""
    with part("all instances are stopped, and the records are moved to a directory"):
        for pod in trial.pods:
            pod.stop()
        moved = trial.command(
            "state", "export", "--data-dir", str(data), "--bootstrap-server", trial.kafka.addresses()
        )
        print(f"           {moved.strip()}")
    with part("a gateway is started on the directory"):
        trial.start_gateway(data)
        trial.must_run()


def run(trial: Trial) -> None:
    """Run all parts."""
    there, back = (
        write_plan(trial.folder / "there.json", (2, 3)),
        write_plan(trial.folder / "back.json", (1, 2)),
    )
    first, last = trial.folder / "first", trial.folder / "last"
    with part("topics are created"):
        create_topics(trial.kafka)
    trial.start_gateway(first)
    trial.ask("limits", f"P={MOVING}")
    with part("--execute of 2,000 partitions"):
        trial.execute(there)
    to_the_topic(trial, first)
    kill_the_active_one(trial)
    with part("the rest of the plan"):
        trial.ask("limits", "P=200")
        trial.wait_for_end()
    with part("--verify"):
        trial.verify(there)
    trial.ask("limits", f"P={MOVING}")
    with part("--execute of the plan back"):
        trial.execute(back)
    update(trial)
    to_a_directory(trial, last)
    with part("the rest of the plan"):
        trial.ask("limits", "P=200")
        trial.wait_for_end()
    trial.verify(back)
    print(trial.ask("jobs"))
    trial.stop_gateway()


def main() -> int:
    """Run the trial. Return 1, and keep the logs, if a part fails."""
    options = argparse.ArgumentParser(prog="python -m campaigns.operator_trial")
    options.add_argument(
        "--old-tree", type=Path, default=TREE, help="working tree of the version before the update"
    )
    tree = options.parse_args().old_tree.resolve()
    folder, begun = Path(tempfile.mkdtemp(prefix="operator-trial-")), time.monotonic()
    with ExitStack() as stack:
        spec = Spec(3, "4.1", measured=True, settings=SETTINGS)
        kafka = stack.enter_context(running_kafka(spec))
        trial = Trial(kafka, folder, tree)
        stack.callback(trial.end)
        ports = range(trial.ports, trial.ports + len(kafka.brokers) + 2)
        stack.enter_context(SharedName(SERVICE, (DIRECTORY_HOST, *POD_HOSTS), ports))
        try:
            run(trial)
        except (TrialError, RuntimeError) as error:
            print(f"failed; logs in {folder}: {error}", file=sys.stderr)
            return 1
    shutil.rmtree(folder)
    print(f"{time.monotonic() - begun:7.1f} s  in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
