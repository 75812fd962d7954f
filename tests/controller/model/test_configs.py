import pytest

from controller.model.configs import Config, ResourceType, ThrottleLease, list_items


@pytest.mark.parametrize(
    ("value", "items"), [(None, []), ("", []), ("1:2", ["1:2"]), ("1:2, 3:4,", ["1:2", "3:4"])]
)
def test_the_items_of_a_list_are_separated_by_commas(value: str | None, items: list[str]) -> None:
    assert list_items(value) == items


@pytest.mark.parametrize(
    ("ours", "found", "owned"),
    [
        ("0:1,0:2", None, ["0:1", "0:2"]),
        ("1:1,0:1", "1:1", ["0:1"]),
        ("*", "*", []),
        ("5,7", None, ["5", "7"]),
        ("", None, []),
    ],
)
def test_a_lease_owns_the_entries_that_were_not_there_before(
    ours: str, found: str | None, owned: list[str]
) -> None:
    assert ThrottleLease(ResourceType.TOPIC, "foo", "list", ours, found).owned == owned


def test_a_config_and_its_lease_have_the_same_key() -> None:
    key = (ResourceType.BROKER, "1", "rate")
    assert Config(*key, "5").key == ThrottleLease(*key, "5", None).key == key
