"""Encoding and decoding of large messages, compared with kafka-python.

`python -m bench.codec [--partitions N] [--per-topic N]`.

The numbers are CPU ms, the best of several runs. Both codecs run in one process without garbage collection.
reassignd's codec decodes into the objects that handlers use. In a `mixed` message the lengths of replica
lists differ between rows.
"""

import argparse
import gc
import warnings
from collections.abc import Callable
from time import process_time
from typing import Any, NamedTuple

from protocol.codec.wire import codec
from protocol.messages import alter_partition_reassignments_request as alter
from protocol.messages import leader_and_isr_request as leader_and_isr
from protocol.messages import list_partition_reassignments_response as listing
from protocol.messages import metadata_response as metadata

with warnings.catch_warnings():
    # kafka-python reads its schemas by a deprecated function.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol import admin
    from kafka.protocol.api_message import ApiMessage
    from kafka.protocol.metadata import MetadataResponse


def peer_over_our_schema(name: str) -> Any:
    """Return a class of kafka-python for a schema in `schemas/` whose message kafka-python lacks."""

    def json_patch(_: type, schema: Any) -> Any:
        # A field called Type would hide an attribute of the base class.
        for field in schema["fields"]:
            field["name"] = "KindOf" if field["name"] == "Type" else field["name"]
        return schema

    attributes: dict[str, Any] = {"json_patch": classmethod(json_patch)}
    return type(ApiMessage)(name, (ApiMessage,), attributes, load_json="schemas")


class Case(NamedTuple):
    """A message in one version, and kafka-python's class for it."""

    name: str
    message: Any
    version: int
    peer: Any
    encode_target: float | None
    decode_target: float | None


def cases(partitions: int, per_topic: int) -> list[Case]:
    """Return the messages of the comparison."""
    topics, rows = range(partitions // per_topic), range(per_topic)
    request = alter.AlterPartitionReassignmentsRequest(topics=[alter_topic(t, rows) for t in topics])
    peer = admin.AlterPartitionReassignmentsRequest
    return [
        Case("Alter request v0", request, 0, peer, None, 2.5),
        Case("Alter request v1", request, 1, peer, None, 2.5),
        Case(
            "List response v0",
            list_response(topics, rows, mixed=False),
            0,
            admin.ListPartitionReassignmentsResponse,
            4,
            None,
        ),
        Case(
            "List response v0, mixed",
            list_response(topics, rows, mixed=True),
            0,
            admin.ListPartitionReassignmentsResponse,
            None,
            None,
        ),
        Case("Metadata response v12", metadata_response(topics, rows), 12, MetadataResponse, 4, None),
        Case(
            "LeaderAndIsr request v3",
            leader_and_isr_request(topics, rows),
            3,
            peer_over_our_schema("LeaderAndIsrRequest"),
            4,
            2.5,
        ),
    ]


def replicas(partition: int, count: int = 3) -> tuple[int, ...]:
    """Return `count` broker ids."""
    return tuple((partition + index) % 100 for index in range(count))


def alter_topic(topic: int, rows: range) -> alter.ReassignableTopic:
    """Return a topic whose partitions all move."""
    return alter.ReassignableTopic(
        f"topic-{topic}", [alter.ReassignablePartition(p, replicas(p)) for p in rows]
    )


def list_response(topics: range, rows: range, mixed: bool) -> listing.ListPartitionReassignmentsResponse:
    """Return ongoing reassignments; `mixed` ones have one to three adding replicas."""

    def row(partition: int) -> listing.OngoingPartitionReassignment:
        moving = partition * 7 % 3 + 1 if mixed else 1
        some = replicas(partition, moving)
        return listing.OngoingPartitionReassignment(partition, replicas(partition), some, some)

    return listing.ListPartitionReassignmentsResponse(
        topics=[listing.OngoingTopicReassignment(f"topic-{t}", [row(p) for p in rows]) for t in topics]
    )


def metadata_response(topics: range, rows: range) -> metadata.MetadataResponse:
    """Return a description of all topics and of 100 brokers."""

    def topic(number: int) -> metadata.MetadataResponseTopic:
        partitions = [
            metadata.MetadataResponsePartition(0, p, p % 100, 5, replicas(p), replicas(p)) for p in rows
        ]
        return metadata.MetadataResponseTopic(
            0, f"topic-{number}", number.to_bytes(16, "big"), False, partitions
        )

    brokers = [metadata.MetadataResponseBroker(b, f"broker-{b}", 9092, "a") for b in range(100)]
    return metadata.MetadataResponse(0, brokers, "cluster", 1, [topic(t) for t in topics])


def leader_and_isr_request(topics: range, rows: range) -> leader_and_isr.LeaderAndIsrRequest:
    """Return the request of a new controller to a broker: all partitions, and 100 live brokers."""

    def topic(number: int) -> leader_and_isr.LeaderAndIsrTopicState:
        partitions = [
            leader_and_isr.LeaderAndIsrPartitionState("", p, 1, p % 100, 5, replicas(p), 7, replicas(p))
            for p in rows
        ]
        return leader_and_isr.LeaderAndIsrTopicState(f"topic-{number}", partition_states=partitions)

    leaders = [leader_and_isr.LeaderAndIsrLiveLeader(b, f"broker-{b}", 9092) for b in range(100)]
    return leader_and_isr.LeaderAndIsrRequest(
        1, controller_epoch=1, topic_states=[topic(t) for t in topics], live_leaders=leaders
    )


def cpu_ms(function: Callable[[], object], repeat: int) -> float:
    """Return the least CPU time of `repeat` calls."""
    best = float("inf")
    for _ in range(repeat):
        gc.collect()
        start = process_time()
        function()
        best = min(best, process_time() - start)
    return best * 1000


def measure(case: Case, repeat: int) -> list[str]:
    """Return two rows of the table, encode and decode."""
    message_class: type[Any] = type(case.message)
    ours = codec(message_class, case.version)
    data = ours.encode(case.message)
    theirs = case.peer.decode(data, version=case.version)
    if theirs.encode() != data:
        raise AssertionError(f"{case.name}: the peer's bytes differ")
    pairs = {
        "encode": (
            lambda: ours.encode(case.message),
            theirs.encode,
            case.encode_target,
        ),
        "decode": (
            lambda: ours.decode(data),
            lambda: case.peer.decode(data, version=case.version),
            case.decode_target,
        ),
    }
    rows = []
    for name, (our_way, their_way, target) in pairs.items():
        our_ms, their_ms = cpu_ms(our_way, repeat), cpu_ms(their_way, repeat)
        wanted = "" if target is None else f"{target:.1f}"
        rows.append(
            f"| {case.name} | {name} | {len(data) / 1e6:.1f} | {our_ms:.1f} | {their_ms:.1f} "
            f"| {their_ms / our_ms:.1f} | {wanted} |"
        )
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.codec", description=__doc__)
    parser.add_argument("--partitions", type=int, default=100_000)
    parser.add_argument("--per-topic", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    print(
        "| message | | MB | reassignd ms | kafka-python ms | ratio | wanted |\n|---|---|---|---|---|---|---|"
    )
    gc.disable()
    for case in cases(options.partitions, options.per_topic):
        print("\n".join(measure(case, options.repeat)), flush=True)


if __name__ == "__main__":
    main()
