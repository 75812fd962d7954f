import pytest
from kafka.errors import kafka_errors

from common.address import Address
from common.error_codes import ErrorCode, error_name
from common.lists import ELEMENTS_PER_SLICE, clear_lists, drained, grouped
from common.plan_errors import MOST_FAULTS, Faults, PlanError
from common.rates import read_rate


def test_an_address_is_written_as_host_and_port() -> None:
    assert str(Address("kafka", 9092)) == "kafka:9092"


def test_an_ipv6_host_is_written_in_brackets() -> None:
    assert str(Address("::1", 9092)) == "[::1]:9092"


RENAMED = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "UNKNOWN",
    ErrorCode.NONE: "NO_ERROR",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "NOT_LEADER_FOR_PARTITION",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "INVALID_TOPIC",
    ErrorCode.MESSAGE_TOO_LARGE: "MESSAGE_SIZE_TOO_LARGE",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: "INVALID_REPLICATION_ASSIGNMENT",
}
"""Names of kafka-python that differ from Kafka's."""


def test_numbers_match_the_table_of_kafka_python() -> None:
    names = {code: kafka_errors[code.value].message for code in ErrorCode}
    assert names == {code: RENAMED.get(code, code.name) for code in ErrorCode}


def test_an_unknown_code_is_shown_as_a_number() -> None:
    assert (error_name(3), error_name(999)) == ("UNKNOWN_TOPIC_OR_PARTITION", "error 999")


def error(*faults: str) -> PlanError:
    found = Faults()
    for number, each in enumerate(faults):
        found.add(number, str, each)
    with pytest.raises(PlanError) as caught:
        found.check()
    return caught.value


def test_without_a_fault_nothing_is_raised() -> None:
    Faults().check()


def test_a_single_fault_is_the_text() -> None:
    assert (str(error("x is wrong")), error("x is wrong").faults) == ("x is wrong", ())


def test_several_faults_are_counted_and_the_first_ones_named() -> None:
    found = error(*(f"{number} is wrong" for number in range(MOST_FAULTS + 5)))
    assert str(found) == "1,005 entries are wrong, the first: 0 is wrong"
    assert len(found.faults) == MOST_FAULTS


def test_faults_are_named_in_the_order_of_the_plan() -> None:
    found = Faults()
    for number in (2, 0, 1):
        found.add(number, "{} is wrong".format, number)
    assert len(found) == 3
    with pytest.raises(PlanError) as caught:
        found.check()
    assert list(caught.value.faults) == ["0 is wrong", "1 is wrong", "2 is wrong"]


def test_values_are_grouped_in_order_of_their_keys_first_occurrence() -> None:
    pairs = [("b", 1), ("a", 2), ("b", 3)]
    assert list(grouped(pairs).items()) == [("b", [1, 3]), ("a", [2])]


def test_no_pairs_have_no_groups() -> None:
    assert grouped([]) == {}


def test_elements_are_removed_in_order() -> None:
    elements = [1, 2, 3]
    left = [(element, list(elements)) for element in drained(elements)]
    assert left == [(1, [3, 2]), (2, [3]), (3, [])]


def test_a_long_list_and_the_lists_in_an_object_are_emptied() -> None:
    one, other = [0] * (2 * ELEMENTS_PER_SLICE + 1), ["a"]
    clear_lists(one)
    clear_lists({"version": 1, "partitions": other, "none": []})
    assert (one, other) == ([], [])


def test_values_that_are_no_lists_are_left_alone() -> None:
    for value in (None, "text", 1, {"a": "b"}):
        clear_lists(value)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("1000000", 1_000_000),
        ("50MB", 50_000_000),
        ("50mb/s", 50_000_000),
        ("50M", 50_000_000),
        ("1.5 GB", 1_500_000_000),
        ("48MiB", 48 * 1024 * 1024),
        ("10kB", 10_000),
        ("512B", 512),
    ],
)
def test_units_are_decimal_or_binary(text: str, rate: int) -> None:
    assert read_rate(text) == rate


@pytest.mark.parametrize("text", ["", "MB", "50XB", "-5", "5 apples", "1e6", "1MiBB", "1/s/s"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="such as 50MB"):
        read_rate(text)
