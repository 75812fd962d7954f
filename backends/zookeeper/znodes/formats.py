"""Encoding and decoding of Kafka's znodes (Kafka: ZkData, TopicPartitionStateZNode, BrokerIdZNode).

Encoders write what Kafka writes. Decoders accept the formats of all releases; for invalid data they raise
`ZnodeError` with a reason of one line.

KIP-455: topics have `adding_replicas` and `removing_replicas`. The keys of its drafts (`addingReplicas`,
`removingReplicas`, `retiringReplicas`, and `targetReplicas` in the state) are read, not written.
"""

import base64
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from backends.zookeeper.znodes.fields import (
    ZnodeError,
    decode_object,
    encode,
    ids,
    integer,
    named_partitions,
    number,
    string,
)
from common.address import Address
from controller.model.cluster import NO_ID, NO_LEADER, Partition, Replicas

_HOST = re.compile(r"\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_ENTITY = re.compile(
    r"topics/(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}|brokers/(<default>|[0-9]{1,10})|(users|clients|ips)/.+",
    re.DOTALL,
)
_STAMP_DIGITS = 20


class Endpoint(NamedTuple):
    """A listener of a broker."""

    listener: str
    protocol: str
    """Name of the security protocol (Kafka: SecurityProtocol)."""
    host: str
    port: int


class Registration(NamedTuple):
    """A broker's registration, `/brokers/ids/N`."""

    endpoints: tuple[Endpoint, ...]
    rack: str | None = None


class Assignment(NamedTuple):
    """A partition's row in its topic's znode."""

    replicas: Replicas
    adding: Replicas = ()
    removing: Replicas = ()


class TopicZnode(NamedTuple):
    """A topic's id and assignment, `/brokers/topics/T`."""

    id: bytes
    partitions: Mapping[int, Assignment]


class StateZnode(NamedTuple):
    """A partition's state, `/brokers/topics/T/partitions/P/state`; `target` is from a draft of KIP-455."""

    leader: int
    leader_epoch: int
    isr: Replicas
    controller_epoch: int
    target: Replicas = ()


class ControllerZnode(NamedTuple):
    """The elected controller, `/controller`; `is_reassignd` distinguishes reassignd from a Kafka broker."""

    broker: int
    timestamp_ms: int
    is_reassignd: bool = False


# ---- topics and partitions --------------------------------------------------------------------------------


def encode_topic(topic: TopicZnode) -> bytes:
    """Return version 3 of the JSON, without `topic_id` if the topic has none (protocols below 2.8)."""
    rows = sorted(topic.partitions.items())
    value: dict[str, Any] = {"removing_replicas": {str(n): a.removing for n, a in rows if a.removing}}
    value["partitions"] = {str(n): a.replicas for n, a in rows}
    if topic.id != NO_ID:
        value["topic_id"] = base64.urlsafe_b64encode(topic.id).decode().rstrip("=")
    value["adding_replicas"] = {str(n): a.adding for n, a in rows if a.adding}
    return encode({**value, "version": 3})


def decode_topic(data: bytes | None) -> TopicZnode:
    """Read versions 1 to 3, and the keys of KIP-455's drafts. Raises ZnodeError."""
    value = decode_object(data)
    adding = _lists(value, "adding_replicas", "addingReplicas")
    removing = _lists(value, "removing_replicas", "removingReplicas", "retiringReplicas")
    partitions = _lists(value, "partitions")
    if "partitions" not in value:
        raise ZnodeError("it has no partitions")
    return TopicZnode(
        _topic_id(value.get("topic_id")),
        {n: Assignment(r, adding.get(n, ()), removing.get(n, ())) for n, r in sorted(partitions.items())},
    )


def encode_state(partition: Partition, controller_epoch: int) -> bytes:
    """Return the JSON of the partition's leader and ISR."""
    return encode({
        "controller_epoch": controller_epoch,
        "leader": partition.leader,
        "version": 1,
        "leader_epoch": partition.leader_epoch,
        "isr": partition.isr,
    })  # fmt: skip


def decode_state(data: bytes | None) -> StateZnode:
    """Read leader and ISR. Raises ZnodeError."""
    value = decode_object(data)
    target = value.get("targetReplicas")
    return StateZnode(
        integer(value, "leader", least=NO_LEADER),
        integer(value, "leader_epoch"),
        ids(value.get("isr"), "isr"),
        integer(value, "controller_epoch"),
        () if target is None else ids(target, "targetReplicas"),
    )


# ---- brokers and the controller ---------------------------------------------------------------------------


def encode_broker(registration: Registration, timestamp_ms: int) -> bytes:
    """Return version 4 of the JSON, which all brokers since 0.11 read."""
    first = registration.endpoints[0]
    value: dict[str, Any] = {
        "listener_security_protocol_map": {each.listener: each.protocol for each in registration.endpoints},
        "endpoints": [
            f"{each.listener}://{Address(each.host, each.port)}" for each in registration.endpoints
        ],
        "jmx_port": -1,
        "port": first.port,
        "host": first.host,
        "version": 4,
        "timestamp": str(timestamp_ms),
    }
    return encode(value if registration.rack is None else {**value, "rack": registration.rack})


def decode_broker(data: bytes | None) -> Registration:
    """Read versions 2 to 5. Raises ZnodeError."""
    value = decode_object(data)
    endpoints = value.get("endpoints")
    if not isinstance(endpoints, list) or not endpoints:
        raise ZnodeError("it has no endpoints")
    protocols = value.get("listener_security_protocol_map", {})
    if not isinstance(protocols, dict):
        raise ZnodeError("listener_security_protocol_map is not an object")
    rack = value.get("rack")
    if rack is not None and not isinstance(rack, str):
        raise ZnodeError("rack is not a string")
    return Registration(tuple(_endpoint(each, protocols) for each in endpoints), rack)


def encode_controller(controller: ControllerZnode) -> bytes:
    """Return version 1 of the JSON, with a key of our own; Kafka ignores keys that it does not know."""
    value: dict[str, Any] = {
        "version": 1,
        "brokerid": controller.broker,
        "timestamp": str(controller.timestamp_ms),
    }
    return encode({**value, "reassignd": True} if controller.is_reassignd else value)


def decode_controller(data: bytes | None) -> ControllerZnode:
    """Read versions 1 and 2. Raises ZnodeError."""
    value = decode_object(data)
    return ControllerZnode(integer(value, "brokerid"), _timestamp(value), value.get("reassignd") is True)


def decode_epoch(data: bytes | None) -> int:
    """Read `/controller_epoch`, a decimal number. Raises ZnodeError."""
    text = (data or b"").decode("ascii", "replace").strip()
    epoch = number(text)
    if epoch is None:
        raise ZnodeError(f"{text[:40]!r} is not a number")
    return epoch


# ---- notifications ----------------------------------------------------------------------------------------


def decode_isr_changes(data: bytes | None) -> list[tuple[str, int]]:
    """Return the partitions that a child of `/isr_change_notification` names. Raises ZnodeError."""
    return named_partitions(decode_object(data))


def decode_log_dir_event(data: bytes | None) -> int:
    """Return the broker that a child of `/log_dir_event_notification` names. Raises ZnodeError."""
    return integer(decode_object(data), "broker")


def encode_config_change(entity: str) -> bytes:
    """Return the data of a child of `/config/changes`: the entity's configs changed."""
    return encode({"version": 2, "entity_path": entity})


def decode_config_change(data: bytes | None) -> str:
    """Return the entity that changed, from versions 1 and 2. Raises ZnodeError."""
    value = decode_object(data)
    if value.get("version") == 1:
        entity = f"{string(value, 'entity_type')}/{string(value, 'entity_name')}"
    else:
        entity = string(value, "entity_path")
    if _ENTITY.fullmatch(entity) is None:
        raise ZnodeError(f"{entity[:80]!r} is not an entity with configs")
    return entity


def encode_config(values: Mapping[str, str]) -> bytes:
    """Return the data of `/config/ENTITY`."""
    return encode({"version": 1, "config": dict(sorted(values.items()))})


def decode_config(data: bytes | None) -> dict[str, str]:
    """Return an entity's configs; none if the znode has no data, which Kafka writes in some cases.

    Raises ZnodeError.
    """
    if not data:
        return {}
    values = decode_object(data).get("config")
    if not isinstance(values, dict) or not all(isinstance(each, str) for each in values.values()):
        raise ZnodeError("config is not an object of strings")
    return values


def decode_cluster_id(data: bytes | None) -> str:
    """Return the cluster id from `/cluster/id`. Raises ZnodeError."""
    return string(decode_object(data), "id")


# ---- parts ------------------------------------------------------------------------------------------------


def _lists(value: Mapping[str, Any], *names: str) -> dict[int, Replicas]:
    """Return partition number -> broker ids from the first of these keys that exists."""
    name = next((each for each in names if value.get(each) is not None), names[0])
    lists = value.get(name, {})
    if not isinstance(lists, dict):
        raise ZnodeError(f"{name} is not an object")
    if any(number(key) is None for key in lists):
        raise ZnodeError(f"{name} has a key that is not a partition number")
    return {int(key): ids(each, f"{name} of partition {key}") for key, each in lists.items()}


def _topic_id(text: object) -> bytes:
    if text is None:
        return NO_ID
    try:
        topic_id = base64.urlsafe_b64decode(f"{text}==")
    except ValueError as error:
        raise ZnodeError("topic_id is not a topic id") from error
    if len(topic_id) != len(NO_ID):
        raise ZnodeError("topic_id is not a topic id")
    return topic_id


def _endpoint(text: object, protocols: Mapping[str, Any]) -> Endpoint:
    listener, separator, address = str(text).partition("://")
    host, _, port = address.rpartition(":")
    known = number(port)
    if not (separator and known is not None and known < 2**16 and _HOST.fullmatch(host)):
        raise ZnodeError(f"{str(text)[:80]!r} is not an endpoint")
    return Endpoint(listener, str(protocols.get(listener, listener)), host.strip("[]"), known)


def _timestamp(value: Mapping[str, Any]) -> int:
    """Return the timestamp, which is informative only; 0 if it is invalid."""
    stamp = str(value.get("timestamp", 0))
    return int(stamp) if stamp.isascii() and stamp.isdecimal() and len(stamp) < _STAMP_DIGITS else 0
