"""Take-overs while a plan is executed.

The end is that of one gateway with a data directory and without take-overs.

Run it with `python -m campaigns.take_overs`. Both execute the same orders, one after the other before one
cluster, each on a topic of its own: an order of all partitions, another one of some of them, a cancel of
others, and a pause around them. The instances are killed and hand over in turn while partitions move. In the
end assignments, records and entries of the audit log are compared; times, ids of clients, and the order in
which partitions ended may differ.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from backends.upstream.client import UpstreamClient
from campaigns.orders import Replicas, SurvivalError
from campaigns.two_instances import ACTIVE, address
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tools.instances import Instance, new_topic
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import SOON_FENCED, Spec
from tools.processes import Reassignd

SPEC = Spec(3, "4.1", controllers=1, settings=SOON_FENCED)
PARTITIONS = 240
ORIGINAL, TARGET, LATER = (1, 2), (2, 3), (3, 1)
REPLACED, CANCELLED = range(10), range(10, 15)
"""Partitions of a later order, and of a cancel."""
AT_ONCE, AT_ONCE_AFTERWARDS = 1, 20
"""Partitions that move at once, until the last take-over and after it."""
LIMIT = "reassignment.max.concurrent.partition.movements"
LONGEST_SECONDS = 240.0

DIFFERENT = frozenset({"created_ms", "ended_ms", "sequence", "client_id", "time_ms", "id"})
"""Fields of rows that may differ."""
ENTRY = "entry"
"""The kind of a row that `audit` makes. Rows of the kind `audit` are entries that were not copied yet."""
COMPARED = ("reassignments", "pending", "submissions", "jobs", "finished", "configs", "paused", "leases")
"""Kinds of rows that are compared."""

Gateway = Reassignd | Instance
Rows = Sequence[str]


async def create(client: UpstreamClient, topic: str) -> None:
    """Create the topic."""
    rows = [CreatableReplicaAssignment(number, ORIGINAL) for number in range(PARTITIONS)]
    await client.ask(CreateTopicsRequest([CreatableTopic(topic, -1, -1, rows)], 30_000))


async def replicas(client: UpstreamClient, topic: str) -> list[Replicas]:
    """Return the replicas of each partition."""
    response = await client.ask(MetadataRequest([MetadataRequestTopic(name=topic)]))
    rows = sorted(response.topics[0].partitions, key=lambda row: row.partition_index)
    return [tuple(row.replica_nodes) for row in rows]


def expected() -> list[Replicas]:
    """Return the replicas in the end."""
    ends = {**dict.fromkeys(REPLACED, LATER), **dict.fromkeys(CANCELLED, ORIGINAL)}
    return [ends.get(number, TARGET) for number in range(PARTITIONS)]


async def order(gateway: Gateway, topic: str) -> None:
    """Send the orders during a pause, so that no partition moves before the last one."""
    post(gateway, "/v1/pause")
    client = UpstreamClient([address(gateway.bootstrap)])
    for partitions, target in ((range(PARTITIONS), TARGET), (REPLACED, LATER), (CANCELLED, None)):
        rows = [ReassignablePartition(number, target) for number in partitions]
        response = await client.ask(
            AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(topic, rows)])
        )
        refused = [row for row in response.responses[0].partitions if row.error_code]
        if response.error_code or refused:
            raise SurvivalError(f"an order was refused: {response.error_code}, {refused[:1]}")
    await client.close()
    post(gateway, "/v1/resume")


async def hurry(gateway: Gateway) -> None:
    """Let more partitions move at once."""
    client = UpstreamClient([address(gateway.bootstrap)])
    config = AlterableConfig(LIMIT, 0, str(AT_ONCE_AFTERWARDS))
    await client.ask(IncrementalAlterConfigsRequest([AlterConfigsResource(4, "", [config])], False))
    await client.close()


def get(gateway: Gateway, path: str) -> Any:
    """Return the JSON that the API answers."""
    with urllib.request.urlopen(f"http://{gateway.http}{path}", timeout=60) as answer:
        return json.load(answer)


def post(gateway: Gateway, path: str) -> None:
    """Send a request without a body to the API."""
    request = urllib.request.Request(f"http://{gateway.http}{path}", method="POST")
    with urllib.request.urlopen(request, timeout=60):
        pass


async def ended(client: UpstreamClient, gateway: Gateway, topic: str) -> None:
    """Wait until all jobs have ended, and check the replicas. Raises SurvivalError."""
    deadline = time.monotonic() + LONGEST_SECONDS
    while any(job["state"] != "ended" for job in get(gateway, "/v1/jobs")["jobs"]):
        if time.monotonic() > deadline:
            raise SurvivalError("the plan has not ended")
        await asyncio.sleep(0.3)
    if (now := await replicas(client, topic)) != expected():
        raise SurvivalError(f"replicas in the end: {now}")


async def alone(client: UpstreamClient, kafka: KafkaCluster, folder: Path, topic: str) -> Rows:
    """Execute the orders with a data directory; return the rows."""
    data = folder / "data"
    gateway = Reassignd(data, {LIMIT: str(AT_ONCE)}, upstream=kafka.addresses())
    gateway.start()
    try:
        await order(gateway, topic)
        await hurry(gateway)
        await ended(client, gateway, topic)
        entries = audit(gateway)
    finally:
        gateway.stop()
    return [*comparable(export("--from-data-dir", str(data)), topic), *comparable(entries, topic)]


async def taken_over(
    client: UpstreamClient, kafka: KafkaCluster, folder: Path, topic: str, take_overs: int
) -> Rows:
    """Execute the orders with two instances and take-overs; return the rows."""
    state = new_topic()
    pair = [
        Instance(kafka, folder, name, state, None, None, **{LIMIT: str(AT_ONCE)})
        for name in ("first", "second")
    ]
    try:
        for instance in pair:
            instance.start()
        await order(pair[0], topic)
        for number in range(take_overs):
            await take_over(pair, kill=number % 2 == 0)
            left = sum(
                one != other for one, other in zip(await replicas(client, topic), expected(), strict=True)
            )
            print(f"take-over {number + 1}, {left} partitions left", flush=True)
            if not left:
                raise SurvivalError("the plan has ended before the last take-over")
        await hurry(pair[0])
        await ended(client, pair[0], topic)
        entries = audit(pair[0])
    finally:
        for instance in pair:
            if instance.runs:
                instance.stop()
    lines = export("--bootstrap-server", kafka.addresses(), "--state-topic", state)
    return [*comparable(lines, topic), *comparable(entries, topic)]


async def take_over(pair: Sequence[Instance], *, kill: bool) -> None:
    """Kill the active instance and start it again, or let it hand over."""
    (active,) = [each for each in pair if ACTIVE in each.text("/readyz")]
    other = pair[1 - pair.index(active)]
    if kill:
        active.kill()
    else:
        post(active, "/v1/instances/hand-over")
    deadline = time.monotonic() + LONGEST_SECONDS
    while ACTIVE not in other.text("/readyz"):
        if time.monotonic() > deadline:
            raise SurvivalError(f"no take-over: {other.log[-2000:]}")
        await asyncio.sleep(0.1)
    if kill:
        active.start()


def export(*arguments: str) -> list[Mapping[str, Any]]:
    """Return the rows of `reassignd state export`."""
    command = [sys.executable, "-m", "reassignd", "state", "export", *arguments]
    done = subprocess.run(command, capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def audit(gateway: Gateway) -> list[Mapping[str, Any]]:
    """Return the audit log, in the form of rows."""
    return [{"key": [ENTRY], "value": entry} for entry in get(gateway, "/v1/audit")["entries"]]


def comparable(lines: Sequence[Mapping[str, Any]], topic: str) -> Rows:
    """Return the rows that must be the same, as sorted text with the same name of the topic."""
    rows = [
        [line["key"], {name: field for name, field in line["value"].items() if name not in DIFFERENT}]
        for line in lines
        if line["key"][0] in (*COMPARED, ENTRY)
    ]
    return sorted(json.dumps(row, sort_keys=True).replace(topic, "TOPIC") for row in rows)


async def run(take_overs: int, folder: Path) -> str:
    """Execute both, and return what was compared. Raises SurvivalError for a difference."""
    with running_kafka(SPEC) as kafka:
        client = UpstreamClient([address(each) for each in kafka.addresses().split(",")])
        await create(client, "planned-alone")
        await create(client, "planned-taken-over")
        one = await alone(client, kafka, folder, "planned-alone")
        other = await taken_over(client, kafka, folder, "planned-taken-over", take_overs)
        await client.close()
    if one != other:
        only = [sorted(set(one) - set(other)), sorted(set(other) - set(one))]
        raise SurvivalError(f"only without take-overs: {only[0][:10]}\nonly with them: {only[1][:10]}")
    return f"{PARTITIONS} partitions and {len(one)} rows are the same after {take_overs} take-overs"


def main() -> int:
    """Run the command. Return 1 if the ends differ."""
    parser = argparse.ArgumentParser(prog="python -m campaigns.take_overs", description=__doc__)
    parser.add_argument("--take-overs", type=int, default=6)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            print(asyncio.run(run(options.take_overs, Path(folder))))
        except SurvivalError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
