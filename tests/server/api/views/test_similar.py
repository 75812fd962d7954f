"""Names that may have been meant."""

import pytest

from server.api.views.similar import topic_hint
from tests.builders import InMemoryController, partition
from tests.server.api.api_client import ApiClient, plan


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ordres", " Did you mean orders?"),
        ("orders", ""),
        ("payments", ""),
        ("", ""),
        ("oders", " Did you mean orders?"),
    ],
)
def test_a_similar_topic_is_named(name: str, hint: str) -> None:
    controller = InMemoryController().with_partitions(partition("orders-0", [1]), partition("clicks-0", [1]))
    assert topic_hint(controller.state, name) == hint


async def test_an_unknown_topic_of_a_plan_or_a_cancel_is_named_with_a_similar_one() -> None:
    client = ApiClient(InMemoryController().with_partitions(partition("orders-0", [1])))
    _, text = await client.refusal("POST", "/v1/jobs", plan(ordres_0=[2]))
    assert text.endswith("Did you mean orders?")
    _, text = await client.refusal("POST", "/v1/reassignments/cancel", {"topic": "order"})
    assert text.endswith("Did you mean orders?")


async def test_a_similar_limit_is_named() -> None:
    assert await ApiClient().refusal("PUT", "/v1/limits", {"throtle": 5}) == (
        400,
        'unknown limit "throtle"; did you mean throttle?',
    )
