"""What Kafka's znodes hold, as values and back (Kafka: ZkData, TopicPartitionStateZNode, BrokerIdZNode). Pure.

What is written is what Kafka writes; what is read may have been written by any release, or by people: whatever is not
understood is a `ZnodeError` that says what is wrong, in one line.

KIP-455: `adding_replicas` and `removing_replicas` of topics; its drafts' keys (`addingReplicas`, `retiringReplicas`, and
`targetReplicas` in the state) are read, not written. KIP-584: `features` of brokers.
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
from controller.model.cluster import NO_ID, NO_LEADER, Partition, Replicas

_HOST = re.compile(r"\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_ENTITY = re.compile(
    r"topics/(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}|brokers/(<default>|[0-9]{1,10})|(users|clients|ips)/.+",
    re.DOTALL,
)
_STAMP_DIGITS = 20


class Endpoint(NamedTuple):
    """Where a broker listens under one listener name."""

    listener: str
    protocol: str
    """Kafka: SecurityProtocol, by name."""
    host: str
    port: int


class Registration(NamedTuple):
    """`/brokers/ids/N`."""

    endpoints: tuple[Endpoint, ...]
    rack: str | None = None


class Assignment(NamedTuple):
    """One partition in its topic's znode."""

    replicas: Replicas
    adding: Replicas = ()
    removing: Replicas = ()


class TopicZnode(NamedTuple):
    """`/brokers/topics/T`."""

    id: bytes
    partitions: Mapping[int, Assignment]


class StateZnode(NamedTuple):
    """`/brokers/topics/T/partitions/P/state`; `target` is what a draft of KIP-455 kept there."""

    leader: int
    leader_epoch: int
    isr: Replicas
    controller_epoch: int
    target: Replicas = ()


class ControllerZnode(NamedTuple):
    """`/controller`; `ours` tells that a reassignd holds it, not a broker of Kafka's."""

    broker: int
    timestamp_ms: int
    ours: bool = False


# ---- topics and partitions --------------------------------------------------------------------------------


def encode_topic(topic: TopicZnode) -> bytes:
    """Version 3; `topic_id` is left out where there is none, as Kafka does below inter-broker protocol 2.8."""
    rows = sorted(topic.partitions.items())
    value: dict[str, Any] = {"removing_replicas": {str(n): a.removing for n, a in rows if a.removing}}
    value["partitions"] = {str(n): a.replicas for n, a in rows}
    if topic.id != NO_ID:
        value["topic_id"] = base64.urlsafe_b64encode(topic.id).decode().rstrip("=")
    value["adding_replicas"] = {str(n): a.adding for n, a in rows if a.adding}
    return encode({**value, "version": 3})


def decode_topic(data: bytes | None) -> TopicZnode:
    """Versions 1 to 3, and the draft's names."""
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
    """Leader and ISR of the partition."""
    return encode({
        "controller_epoch": controller_epoch,
        "leader": partition.leader,
        "version": 1,
        "leader_epoch": partition.leader_epoch,
        "isr": partition.isr,
    })  # fmt: skip


def decode_state(data: bytes | None) -> StateZnode:
    """Leader and ISR, without the version of the znode."""
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
    """Version 4, which all brokers since 0.11 read."""
    first = registration.endpoints[0]
    value: dict[str, Any] = {
        "listener_security_protocol_map": {each.listener: each.protocol for each in registration.endpoints},
        "endpoints": [f"{each.listener}://{each.host}:{each.port}" for each in registration.endpoints],
        "jmx_port": -1,
        "port": first.port,
        "host": first.host,
        "version": 4,
        "timestamp": str(timestamp_ms),
    }
    return encode(value if registration.rack is None else {**value, "rack": registration.rack})


def decode_broker(data: bytes | None) -> Registration:
    """Versions 2 to 5."""
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
    """Version 1. Kafka overlooks keys that it does not know."""
    value: dict[str, Any] = {
        "version": 1,
        "brokerid": controller.broker,
        "timestamp": str(controller.timestamp_ms),
    }
    return encode({**value, "reassignd": True} if controller.ours else value)


def decode_controller(data: bytes | None) -> ControllerZnode:
    """Versions 1 and 2."""
    value = decode_object(data)
    return ControllerZnode(integer(value, "brokerid"), _timestamp(value), value.get("reassignd") is True)


def decode_epoch(data: bytes | None) -> int:
    """`/controller_epoch`: a bare number."""
    text = (data or b"").decode("ascii", "replace").strip()
    epoch = number(text)
    if epoch is None:
        raise ZnodeError(f"{text[:40]!r} is not a number")
    return epoch


# ---- notifications ----------------------------------------------------------------------------------------


def decode_isr_changes(data: bytes | None) -> list[tuple[str, int]]:
    """Partitions named by a child of `/isr_change_notification`."""
    return named_partitions(decode_object(data))


def decode_log_dir_event(data: bytes | None) -> int:
    """The broker that a child of `/log_dir_event_notification` speaks of."""
    return integer(decode_object(data), "broker")


def encode_config_change(entity: str) -> bytes:
    """A child of `/config/changes`: the values of `topics/NAME`, `brokers/ID` or `brokers/<default>` changed."""
    return encode({"version": 2, "entity_path": entity})


def decode_config_change(data: bytes | None) -> str:
    """The entity that changed; versions 1 and 2."""
    value = decode_object(data)
    if value.get("version") == 1:
        entity = f"{string(value, 'entity_type')}/{string(value, 'entity_name')}"
    else:
        entity = string(value, "entity_path")
    if _ENTITY.fullmatch(entity) is None:
        raise ZnodeError(f"{entity[:80]!r} is nothing that has configs")
    return entity


def encode_config(values: Mapping[str, str]) -> bytes:
    """`/config/ENTITY`."""
    return encode({"version": 1, "config": dict(sorted(values.items()))})


def decode_config(data: bytes | None) -> dict[str, str]:
    """The values set on an entity; none when the znode is empty, as Kafka makes it at times."""
    if not data:
        return {}
    values = decode_object(data).get("config")
    if not isinstance(values, dict) or not all(isinstance(each, str) for each in values.values()):
        raise ZnodeError("config is not an object of strings")
    return values


def decode_cluster_id(data: bytes | None) -> str:
    """`/cluster/id`."""
    return string(decode_object(data), "id")


# ---- parts ------------------------------------------------------------------------------------------------


def _lists(value: Mapping[str, Any], *names: str) -> dict[int, Replicas]:
    """The first of these names that is there: an object of partition number -> broker ids."""
    name = next((each for each in names if value.get(each) is not None), names[0])
    lists = value.get(name, {})
    if not isinstance(lists, dict):
        raise ZnodeError(f"{name} is not an object")
    if any(number(key) is None for key in lists):
        raise ZnodeError(f"{name} has a key that is not a partition number")
    return {int(key): ids(each, f"{name} of partition {key}") for key, each in lists.items()}


def _topic_id(text: Any) -> bytes:
    if text is None:
        return NO_ID
    try:
        made = base64.urlsafe_b64decode(f"{text}==")
    except ValueError as error:
        raise ZnodeError("topic_id is not a topic id") from error
    if len(made) != len(NO_ID):
        raise ZnodeError("topic_id is not a topic id")
    return made


def _endpoint(text: Any, protocols: Mapping[str, Any]) -> Endpoint:
    listener, separator, address = str(text).partition("://")
    host, _, port = address.rpartition(":")
    known = number(port)
    if not (separator and known is not None and known < 2**16 and _HOST.fullmatch(host)):
        raise ZnodeError(f"{str(text)[:80]!r} is not an endpoint")
    return Endpoint(listener, str(protocols.get(listener, listener)), host.strip("[]"), known)


def _timestamp(value: Mapping[str, Any]) -> int:
    """For people only; 0 where it makes no sense."""
    stamp = str(value.get("timestamp", 0))
    return int(stamp) if stamp.isascii() and stamp.isdecimal() and len(stamp) < _STAMP_DIGITS else 0
