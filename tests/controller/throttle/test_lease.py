import pytest

from controller.configs.names import FOLLOWER_REPLICAS, LEADER_RATE
from controller.model.configs import Lease, ResourceType
from controller.throttle.lease import ListChange, change_list, others_entries, set_by_others, union


def listed(ours: str, found: str | None = None) -> Lease:
    return Lease(ResourceType.TOPIC, "foo", FOLLOWER_REPLICAS, ours, found)


def rated(ours: str) -> Lease:
    return Lease(ResourceType.BROKER, "1", LEADER_RATE, ours, None)


@pytest.mark.parametrize(
    ("value", "lease", "by_others"),
    [
        (None, None, False),
        ("5", None, True),
        ("5", rated("5"), False),
        ("5", rated("5,6"), False),
        ("7", rated("5,6"), True),
        (None, rated("5"), False),
    ],
)
def test_a_rate_that_no_lease_owns_is_set_by_others(
    value: str | None, lease: Lease | None, by_others: bool
) -> None:
    assert set_by_others(value, lease) is by_others


def test_entries_that_no_lease_owns_are_set_by_others() -> None:
    assert others_entries("7:7,0:1", listed("0:1")) == ["7:7"]
    assert others_entries("7:7,0:1,8:8", listed("7:7,0:1", "7:7")) == ["7:7", "8:8"]
    assert others_entries(None, None) == []


@pytest.mark.parametrize(
    ("value", "desired", "together"),
    [(None, "0:1", "0:1"), ("", "0:1", "0:1"), ("7:7,", "0:1,7:7", "7:7,0:1"), ("*", "0:1", "*")],
)
def test_a_union_keeps_existing_entries_first(value: str | None, desired: str, together: str) -> None:
    assert union(value, desired) == together


@pytest.mark.parametrize(
    ("value", "lease", "desired", "subtracted", "change"),
    [
        (None, None, "0:1,0:2", [], ListChange(["0:1", "0:2"], [], ["0:1", "0:2"])),
        ("7:7", None, "0:1", [], ListChange(["0:1"], [], ["0:1"])),
        ("0:1", None, "0:1", [], ListChange([], [], [])),
        ("*", None, "0:1", [], ListChange([], [], [])),
        ("0:1", listed("0:1"), "0:1", [], ListChange([], [], ["0:1"])),
        (None, listed("0:1"), "0:1", [], ListChange(["0:1"], [], ["0:1"])),
        ("0:1", listed("0:1"), "1:1", [], ListChange(["1:1"], ["0:1"], ["0:1", "1:1"])),
        # The read may be older than the append: it is subtracted all the same.
        (None, listed("0:1"), "", [], ListChange([], ["0:1"], ["0:1"])),
        ("7:7", listed("0:1"), "", ["0:1"], ListChange([], [], [])),
        # The read may be older than the subtraction.
        ("0:1", listed("0:1"), "", ["0:1"], ListChange([], ["0:1"], ["0:1"])),
    ],
)
def test_a_list_is_changed_entry_by_entry(
    value: str | None, lease: Lease | None, desired: str, subtracted: list[str], change: ListChange
) -> None:
    assert change_list(value, lease, desired, subtracted) == change
