"""Znodes of Kafka's releases, round trips of random values, and invalid data."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.zookeeper.znodes import formats
from backends.zookeeper.znodes.fields import ZnodeError
from backends.zookeeper.znodes.formats import Assignment, ControllerZnode, Endpoint, Registration, TopicZnode
from controller.model.cluster import NO_ID, Partition

REPLICAS = st.lists(st.integers(0, 2**31 - 1), unique=True, max_size=5).map(tuple)
ASSIGNMENTS = st.dictionaries(st.integers(0, 10_000), st.builds(Assignment, REPLICAS, REPLICAS, REPLICAS))
TOPICS = st.builds(TopicZnode, st.binary(min_size=16, max_size=16), ASSIGNMENTS)
NAMES = st.text("abcXYZ-", min_size=1, max_size=10)
ENDPOINTS = st.builds(Endpoint, NAMES, NAMES, NAMES, st.integers(0, 65535))
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["partitions", "isr", "0"]), inner)
    ),
)
READERS = [
    formats.decode_topic,
    formats.decode_state,
    formats.decode_broker,
    formats.decode_controller,
    formats.decode_epoch,
    formats.decode_isr_changes,
    formats.decode_log_dir_event,
    formats.decode_config_change,
    formats.decode_config,
    formats.decode_cluster_id,
]


@given(TOPICS)
def test_an_encoded_topic_is_decoded(topic: TopicZnode) -> None:
    assert formats.decode_topic(formats.encode_topic(topic)) == topic


def test_the_json_of_a_topic_is_kafkas() -> None:
    topic = TopicZnode(NO_ID, {0: Assignment((3, 1), (3,), (1,)), 1: Assignment((2,))})
    assert json.loads(formats.encode_topic(topic)) == {
        "version": 3,
        "partitions": {"0": [3, 1], "1": [2]},
        "adding_replicas": {"0": [3]},
        "removing_replicas": {"0": [1]},
    }


@pytest.mark.parametrize(
    "text",
    [
        '{"version":1,"partitions":{"0":[1,4],"1":[2]}}',
        '{"version":2,"partitions":{"0":[1,4],"1":[2]},"adding_replicas":{"0":[4]},"removing_replicas":{"0":[1]}}',
        '{"version":1,"partitions":{"0":[1,4],"1":[2]},"addingReplicas":{"0":[4]},"retiringReplicas":{"0":[1]}}',
    ],
)
def test_every_version_of_a_topic_is_decoded(text: str) -> None:
    topic = formats.decode_topic(text.encode())
    assert topic.partitions[0].replicas == (1, 4)
    assert topic.partitions[1] == Assignment((2,))
    assert (topic.partitions[0].adding == (4,)) is ("dding" in text)
    assert (topic.partitions[0].removing == (1,)) is ("dding" in text)


@given(st.integers(-1, 9), st.integers(0, 99), REPLICAS, st.integers(0, 99))
def test_an_encoded_state_is_decoded(leader: int, epoch: int, isr: tuple[int, ...], controller: int) -> None:
    data = formats.encode_state(Partition("foo", 0, isr, isr, leader, epoch), controller)
    assert formats.decode_state(data) == (leader, epoch, isr, controller, ())


def test_the_target_in_the_state_of_a_kip_draft_is_decoded() -> None:
    text = (
        b'{"version":1,"leader":1,"leader_epoch":1,"controller_epoch":1,"isr":[1,2],"targetReplicas":[4,5]}'
    )
    assert formats.decode_state(text).target == (4, 5)


@given(
    st.builds(
        Registration,
        st.lists(ENDPOINTS, min_size=1, unique_by=lambda e: e.listener).map(tuple),
        st.none() | NAMES,
    )
)
def test_an_encoded_broker_is_decoded(registration: Registration) -> None:
    assert formats.decode_broker(formats.encode_broker(registration, 5)) == registration


def test_a_broker_with_features_and_an_ipv6_address_is_decoded() -> None:
    text = b'{"features":{},"endpoints":["SSL://[::1]:9093"],"version":5,"listener_security_protocol_map":{"SSL":"SSL"}}'
    assert formats.decode_broker(text) == Registration((Endpoint("SSL", "SSL", "::1", 9093),))


def test_an_ipv6_address_is_encoded_in_brackets_as_by_kafka() -> None:
    registration = Registration((Endpoint("SSL", "SSL", "::1", 9093),))
    assert b'"SSL://[::1]:9093"' in formats.encode_broker(registration, 5).replace(b" ", b"")


def test_the_controller_of_any_release_is_decoded() -> None:
    newer = b'{"version":2,"brokerid":2,"timestamp":"17","kraftControllerEpoch":-1}'
    assert formats.decode_controller(newer) == ControllerZnode(2, 17)
    ours = ControllerZnode(1000, 5, is_reassignd=True)
    assert formats.decode_controller(formats.encode_controller(ours)) == ours


@given(st.dictionaries(st.text(), st.text()))
def test_encoded_configs_are_decoded(values: dict[str, str]) -> None:
    assert formats.decode_config(formats.encode_config(values)) == values


def test_config_changes_of_both_versions_name_the_entity() -> None:
    assert formats.decode_config_change(formats.encode_config_change("topics/foo")) == "topics/foo"
    old = b'{"version":1,"entity_type":"topics","entity_name":"foo"}'
    assert formats.decode_config_change(old) == "topics/foo"


def test_notifications_name_partitions_and_brokers() -> None:
    data = b'{"version":1,"partitions":[{"topic":"foo","partition":2}]}'
    assert formats.decode_isr_changes(data) == [("foo", 2)]
    assert formats.decode_log_dir_event(b'{"version":1,"broker":3,"event":1}') == 3


def refusal(read: Any, data: bytes) -> str:
    """Return the error of decoding the data, "" if there is none."""
    try:
        read(data)
    except ZnodeError as error:
        return str(error)
    return ""


@given(st.sampled_from(READERS), JUNK)
def test_invalid_data_is_an_error_of_one_line(read: Any, junk: object) -> None:
    assert "\n" not in refusal(read, json.dumps(junk).encode())


@given(st.sampled_from(READERS), st.binary(max_size=9).filter(lambda data: not data.strip().isdigit()))
def test_bytes_that_are_not_utf_8_are_an_error(read: Any, data: bytes) -> None:
    if data:
        assert refusal(read, data)
