"""JSON Schema of what the API takes and gives; the components of the OpenAPI document."""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
NULLABLE_INTEGER: Schema = {"type": ["integer", "null"]}
NULLABLE_TEXT: Schema = {"type": ["string", "null"]}
REPLICAS: Schema = {
    "type": "array",
    "items": INTEGER,
    "description": "Broker ids, the preferred leader first.",
}


def ref(name: str) -> Schema:
    """Points to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def array(items: Schema) -> Schema:
    """A list of these."""
    return {"type": "array", "items": items}


def record(optional: Mapping[str, Schema] | None = None, /, **fields: Schema) -> Schema:
    """An object that has these fields, and may have the optional ones."""
    return {"type": "object", "properties": {**fields, **(optional or {})}, "required": sorted(fields)}


_COPIED: Mapping[str, Schema] = {
    "bytes": {**INTEGER, "description": "Copied until now, to all replicas together."},
    "total": {**INTEGER, "description": "To be copied in all."},
    "rate": {
        **NULLABLE_INTEGER,
        "description": "Bytes a second, the mean of 10 s or more; null before that.",
    },
    "seconds_left": {**NULLABLE_INTEGER, "description": "At that rate; null while there is none."},
}
ENDINGS = {
    "type": "object",
    "additionalProperties": INTEGER,
    "description": "How many partitions ended how; empty while the job goes on.",
}
_KEY = {"topic": TEXT, "partition": INTEGER}
_REFUSED = array(record(**_KEY, error=TEXT, message=TEXT))

COMPONENTS: Mapping[str, Schema] = {
    "Error": record(error={**TEXT, "description": "One line that names what is wrong."}),
    "Plan": record(
        {"version": {"const": 1}},
        partitions=array(record({"log_dirs": array({"const": "any"})}, **_KEY, replicas=REPLICAS)),
    ),
    "Accepted": record(
        job={**NULLABLE_INTEGER, "description": "Null when every partition is where the plan wants it."},
        accepted=INTEGER,
        refused=_REFUSED,
        rollback=ref("Plan"),
    ),
    "Copied": record(**_COPIED),
    "Job": record(
        id=INTEGER,
        kind={"enum": ["plan", "rollback", "queue"]},
        state={"enum": ["running", "paused", "ended"]},
        created_ms={**INTEGER, "description": "Milliseconds since 1970."},
        ended_ms=NULLABLE_INTEGER,
        principal=TEXT,
        client_id=NULLABLE_TEXT,
        total=INTEGER,
        done=INTEGER,
        moving=INTEGER,
        waiting=INTEGER,
        queued=INTEGER,
        priority=INTEGER,
        throttle={**NULLABLE_INTEGER, "description": "Bytes a second."},
        undoes={**NULLABLE_INTEGER, "description": "The job that this rollback takes back."},
        endings=ENDINGS,
        copied={
            "anyOf": [ref("Copied"), {"type": "null"}],
            "description": "Null when it has ended, has nothing to copy, or was not looked at yet.",
        },
    ),
    "Jobs": record(total=INTEGER, jobs=array(ref("Job"))),
    "Part": record(
        **_KEY,
        state=TEXT,
        replicas=REPLICAS,
        target=REPLICAS,
        original=REPLICAS,
        step={"type": ["array", "null"], "items": INTEGER},
        reason={
            **TEXT,
            "description": "Why it does not move, or comes no nearer; empty when it does, or is done.",
        },
    ),
    "Reasons": array(record(reason=TEXT, partitions=INTEGER)),
    "JobDetail": record(
        job=ref("Job"),
        endings=ENDINGS,
        reasons=ref("Reasons"),
        sampled={
            **INTEGER,
            "description": "Partitions that `reasons` counts: the first ones that do not move, or come no nearer.",
        },
        partitions=array(ref("Part")),
        next={**NULLABLE_INTEGER, "description": "The `offset` of the next page."},
    ),
    "RolledBack": record(
        job={**NULLABLE_INTEGER, "description": "The rollback; null when there was nothing to take back."},
        skipped=array(record(**_KEY, reason=TEXT)),
    ),
    "Priority": record(priority=INTEGER),
    "Reassignments": record(
        {
            "version": {"const": 1},
            "partitions": array(
                record(
                    **_KEY,
                    replicas={**REPLICAS, "description": "The target."},
                    adding_replicas=REPLICAS,
                    removing_replicas=REPLICAS,
                )
            ),
        }
    ),
    "Cancel": {
        **record(
            {
                "all": {"const": True},
                "topic": TEXT,
                "job": INTEGER,
                "partitions": array(record(**_KEY)),
            }
        ),
        "description": "Exactly one of these.",
        "minProperties": 1,
        "maxProperties": 1,
    },
    "Cancelled": record(
        cancelled=INTEGER,
        refused=_REFUSED,
        partitions={
            **array(record(**_KEY, replicas=REPLICAS)),
            "description": "Where the cancelled partitions go, the first 1,000 of them.",
        },
        throttle=record(
            bytes_per_second={
                **NULLABLE_INTEGER,
                "description": "The rate that reassignd sets, while steps are still in flight.",
            },
            set_by_others={
                "type": ["array", "null"],
                "items": INTEGER,
                "description": "Brokers with a throttle that somebody else has set, which stays; null where that is not known.",
            },
        ),
    ),
    "Paused": record(paused=BOOLEAN),
    "Limit": record(name=TEXT, config=TEXT, limit=NULLABLE_INTEGER, used=NULLABLE_INTEGER),
    "Limits": record(
        limits=array(ref("Limit")), brokers=array(record(id=INTEGER, incoming=INTEGER, outgoing=INTEGER))
    ),
    "LimitChanges": {
        "type": "object",
        "additionalProperties": NULLABLE_INTEGER,
        "description": "Name (R, P, L, C, B, throttle, or the config) to value; null takes the limit away.",
    },
    "Queue": record(total=INTEGER, entries=array(ref("QueueEntry")), next=NULLABLE_INTEGER),
    "QueueEntry": record(**_KEY, state=TEXT, replicas=REPLICAS, target=REPLICAS, reason=TEXT),
    "Totals": record(
        ongoing=INTEGER, moving=INTEGER, waiting=INTEGER, queued=INTEGER, pending=INTEGER, others=INTEGER
    ),
    "Status": record(
        version=TEXT,
        cluster_id=TEXT,
        paused=BOOLEAN,
        brokers=record(registered=INTEGER, live=INTEGER, offline=array(INTEGER)),
        partitions=record(total=INTEGER, offline=INTEGER, under_replicated=INTEGER, under_min_isr=INTEGER),
        health={
            **record(trouble=NULLABLE_TEXT, holds=NULLABLE_INTEGER),
            "description": "What is wrong with the cluster, and how many steps that repair nothing may go on: null for any.",
        },
        reassignments=ref("Totals"),
        jobs=array(ref("Job")),
        incoming={
            **array(record(broker=INTEGER, **_COPIED)),
            "description": "What brokers still get of the jobs under way, and have got.",
        },
        reasons=ref("Reasons"),
        sampled=INTEGER,
        limits=array(ref("Limit")),
        throttle=record(bytes_per_second=NULLABLE_INTEGER, leases=INTEGER),
        spark=ref("Spark"),
    ),
    "Spark": record(
        state={"enum": ["off", "missing", "ready", "working", "ordered", "failed"]},
        reason={**TEXT, "description": "Why it is missing, or failed; empty otherwise."},
        min_partitions={**INTEGER, "description": "Plans of so many partitions are handed to it."},
        job={**NULLABLE_INTEGER, "description": "The last job that was."},
        partitions={**NULLABLE_INTEGER, "description": "Those handed over, or put in order."},
        since_ms=NULLABLE_INTEGER,
        forecast={
            "anyOf": [
                {"type": "null"},
                record(
                    partitions=INTEGER,
                    steps=INTEGER,
                    waves=INTEGER,
                    replica_movements=INTEGER,
                    leader_movements=INTEGER,
                    bytes=INTEGER,
                    bandwidth={**INTEGER, "description": "Bytes a second into, and out of, each broker."},
                    seconds=NUMBER,
                    least_seconds=NUMBER,
                    waiting_partitions={
                        **INTEGER,
                        "description": "Those that cannot reach their target now.",
                    },
                ),
            ]
        },
    ),
    "SnapshotRow": {
        "description": "One line each: the brokers, then the partitions.",
        "anyOf": [
            record(
                kind={"const": "broker"},
                id=INTEGER,
                rack=NULLABLE_TEXT,
                live=BOOLEAN,
                host=TEXT,
                port=INTEGER,
            ),
            record(
                kind={"const": "partition"},
                **_KEY,
                replicas=REPLICAS,
                isr=REPLICAS,
                leader=INTEGER,
                bytes=INTEGER,
                min_isr=INTEGER,
            ),
        ],
    },
    "Broker": record(
        id=INTEGER,
        live=BOOLEAN,
        host=TEXT,
        port=INTEGER,
        rack=NULLABLE_TEXT,
        log_dirs=array(record(path=TEXT, works=BOOLEAN)),
    ),
    "Brokers": record(brokers=array(ref("Broker"))),
    "Slow": record(factor={"type": "number", "description": "0 makes it stuck, 1 whole again."}),
    "FailLogDir": record(path=TEXT),
    "OpenApi": {"type": "object"},
}
