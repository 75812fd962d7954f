import pytest

from controller.cluster.config_keys import (
    BROKER_KEYS,
    CLUSTER_WIDE,
    TOPIC_KEYS,
    ConfigKey,
    ConfigType,
    broker_dirs,
    fraction,
    http_url,
    labelled_brokers,
    one_of,
    some_of,
    whole,
)
from controller.cluster.config_keys import throttled_replicas as throttled
from controller.schedule.periods import no_zones


@pytest.mark.parametrize("table", [TOPIC_KEYS, BROKER_KEYS], ids=["topic", "broker"])
def test_every_key_has_a_valid_default_and_documentation(table: dict[str, ConfigKey]) -> None:
    assert [key.name for key in table.values()] == sorted(table)
    assert all(key.check(key.default, no_zones) is None for key in table.values())
    assert all(key.doc.endswith(".") for key in table.values())


def test_the_keys_of_reassignments_are_cluster_wide() -> None:
    ours = {key.name for key in BROKER_KEYS.values() if key.name.startswith("reassignment.")}
    kafkas = {"num.partitions", "default.replication.factor"}
    assert ours | kafkas | {"min.insync.replicas", "unclean.leader.election.enable"} == CLUSTER_WIDE


def test_the_list_keys_are_those_of_kafka() -> None:
    lists = [key.name for key in TOPIC_KEYS.values() if key.type is ConfigType.LIST]
    assert lists == [
        "cleanup.policy",
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
    ]


@pytest.mark.parametrize("value", ["*", "0:1,1:2", "", "0:1,", "0:1, 1:2"])
def test_throttled_replicas_are_a_star_or_pairs(value: str) -> None:
    assert throttled(value) is None


@pytest.mark.parametrize(
    "value", ["a:b", "*,0:1", "0-1", "0:1:2", ",0:1", "0:-1", "0:1,,1:2", "٣:1", "0:" + "9" * 5000]
)
def test_other_values_are_not_lists_of_throttled_replicas(value: str) -> None:
    assert throttled(value) == "* or a list of partition:broker"


@pytest.mark.parametrize("value", ["1", "5", "3"])
def test_an_integer_in_its_range_is_valid(value: str) -> None:
    assert whole(1, 5)(value) is None


@pytest.mark.parametrize("value", ["0", "51", "", "x", "1.0", "1e0", "1_0", "٣", "9" * 5000])
def test_the_message_for_an_invalid_integer_contains_the_range(value: str) -> None:
    assert whole(1, 50)(value) is not None


@pytest.mark.parametrize(
    ("value", "valid"), [("0", True), ("0.5", True), ("1.01", False), ("nan", False), ("", False)]
)
def test_a_fraction_is_from_zero_to_one(value: str, valid: bool) -> None:
    assert (fraction(value) is None) is valid


def test_names_must_be_among_the_allowed_ones() -> None:
    assert one_of("true", "false")("true") is None
    assert one_of("true", "false")("yes") == "one of true, false"
    assert some_of("delete", "compact")("compact, delete") is None
    assert some_of("delete", "compact")("compact,shred") == "a list of delete, compact"


@pytest.mark.parametrize("value", ["", " ", "http://there:9090", "https://there/select/0/prometheus"])
def test_a_url_names_a_host(value: str) -> None:
    assert http_url(value) is None


@pytest.mark.parametrize(
    "value",
    [
        "there:9090",
        "ftp://there",
        "http://",
        "http://me:secret@there",
        "http://there:x",
        "http://[",
        "http://a?b",
    ],
)
def test_other_urls_are_refused_and_those_with_a_password_too(value: str) -> None:
    assert str(http_url(value)).startswith("http://HOST:PORT or https://HOST:PORT, without a user")


def test_brokers_are_listed_by_labels() -> None:
    assert [labelled_brokers(value) for value in ("", "10.0.0.1:9404=1, b =2", "a=b=3")] == [None] * 3
    for value in ("1", "a=", "=1", " =1", "a=b", "a=99999999999", "a=1,a =2"):
        assert labelled_brokers(value) == "a list of VALUE=ID, each VALUE once, such as 10.0.0.1:9404=1"


def test_directories_are_named_with_their_brokers() -> None:
    assert [broker_dirs(value) for value in ("", "3:/a", "3:/a, 4:/b:c")] == [None] * 3
    for value in ("3", "3:", ":/a", "x:/a", "3:/a,b"):
        assert broker_dirs(value) == "a list of BROKER:PATH, such as 3:/data2"
