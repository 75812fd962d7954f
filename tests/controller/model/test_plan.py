"""A plan is read as a whole, and its wrong entries are named."""

from typing import Any

import msgspec
import pytest

from common.plan_errors import PlanError
from controller.model.plan import Entry, Plan, PlanRow, read_plan


def entry(**changed: Any) -> dict[str, Any]:
    return {"topic": "foo", "partition": 0, "replicas": [1, 2], **changed}


def refusal(value: Any) -> str:
    with pytest.raises(PlanError) as caught:
        read_plan(value)
    return str(caught.value)


def of(*rows: Any) -> dict[str, Any]:
    return {"version": 1, "partitions": list(rows)}


def test_entries_are_read_in_order_and_other_keys_are_ignored() -> None:
    assert read_plan(of(entry(note="x", log_dirs=["any", "any"]))) == [Entry("foo", 0, (1, 2))]


def test_directories_are_read_where_one_is_named() -> None:
    [named] = read_plan(of(entry(log_dirs=["/a", "any"])))
    assert named.log_dirs == ("/a", "any")


def test_all_wrong_entries_are_named() -> None:
    with pytest.raises(PlanError, match="3 entries are wrong, the first: partitions") as caught:
        read_plan(of(7, entry(), entry(), entry(partition=1, replicas=[2, 2])))
    assert caught.value.faults == [
        "partitions[0] is 7, expected an object",
        "partitions[2] (foo-0) is there twice, first in partitions[1]",
        "partitions[3] (foo-1): broker 2 is in 'replicas' more than once",
    ]


@pytest.mark.parametrize("value", [[], "x", None, {}, {"partitions": {}}])
def test_a_value_that_is_not_a_plan_is_refused(value: Any) -> None:
    assert refusal(value).startswith("not a plan: expected ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"version": 2, "partitions": [entry()]}, "'version' is 2, expected 1"),
        (of(), "the plan has no partitions"),
        (of(entry(), 7), "partitions[1] is 7, expected an object"),
        (of(entry(topic=None)), "partitions[0]: 'topic' is null, expected a topic's name"),
        (of(entry(topic="")), "partitions[0]: 'topic' is \"\", expected a topic's name"),
        (
            of(entry(partition="0")),
            "partitions[0] (foo): 'partition' is \"0\", expected a number from 0 to 2147483647",
        ),
        (
            of(entry(partition=True)),
            "partitions[0] (foo): 'partition' is true, expected a number from 0 to 2147483647",
        ),
        (
            of(entry(replicas=[1, 2**31])),
            "partitions[0] (foo-0): replicas[1] is 2147483648, expected a broker id from 0 to 2147483647",
        ),
        (
            of(entry(replicas=[1.0])),
            "partitions[0] (foo-0): replicas[0] is 1.0, expected a broker id from 0 to 2147483647",
        ),
        (
            of(entry(replicas=[])),
            "partitions[0] (foo-0): 'replicas' is [], expected a list of 1 to 10000 broker ids",
        ),
        (of(entry(replicas=[3, 3])), "partitions[0] (foo-0): broker 3 is in 'replicas' more than once"),
        (of(entry(), entry()), "partitions[1] (foo-0) is there twice, first in partitions[0]"),
        (
            of(entry(log_dirs=["", "any"])),
            'partitions[0] (foo-0): log_dirs[0] is "", expected "any" or the directory where the replica is',
        ),
        (
            of(entry(log_dirs=["any"])),
            (
                "partitions[0] (foo-0): 'log_dirs' has 1 path, and 'replicas' has 2 brokers: expected one"
                " path for each broker"
            ),
        ),
        (of({"partition": 0}), "partitions[0]: 'topic' is missing, expected a topic's name"),
    ],
)
def test_the_first_invalid_entry_is_named(value: Any, text: str) -> None:
    assert refusal(value) == text


def test_a_long_value_is_cut_short() -> None:
    assert len(refusal(of(entry(partition=list(range(1000)))))) < 120


def test_a_plan_without_directories_is_written_without_the_key() -> None:
    """Kafka's tool takes null for an error (DecodeJson.decodeList)."""
    rows = [PlanRow("foo", 0, (1, 2)), PlanRow("foo", 1, (1, 2), ["/a", "any"])]
    assert msgspec.json.decode(msgspec.json.encode(Plan(partitions=rows))) == of(
        {"topic": "foo", "partition": 0, "replicas": [1, 2]},
        {"topic": "foo", "partition": 1, "replicas": [1, 2], "log_dirs": ["/a", "any"]},
    )
