"""`/v1/instances` and the hand-over."""

import pytest

from server.api.shared.process import InstanceRow
from tests.server.api.api_client import ApiClient


class Site:
    """Instances before one cluster."""

    term, active_since_ms = 4, 1000

    def __init__(self, standbys: int) -> None:
        self.ended = 0
        self._rows = [
            InstanceRow(f"i{number}", number == 0, "1.0", f"http://i{number}", 500, number)
            for number in range(1 + standbys)
        ]

    def rows(self) -> list[InstanceRow]:
        return self._rows

    def hand_over(self) -> None:
        self.ended += 1


def client_of(site: Site | None) -> ApiClient:
    client = ApiClient()
    client.serve(instances=site)
    return client


async def test_the_active_instance_and_standbys_are_listed() -> None:
    answer = await client_of(Site(1)).get("/v1/instances")
    assert (answer["term"], answer["active_since_ms"]) == (4, 1000)
    assert [(row["id"], row["active"], row["lag"]) for row in answer["instances"]] == [
        ("i0", True, 0),
        ("i1", False, 1),
    ]


async def test_the_status_names_the_active_instance() -> None:
    assert (await client_of(Site(2)).get("/v1/status"))["active"] == {
        "instance": "i0", "url": "http://i0", "term": 4, "instances": 3
    }  # fmt: skip
    assert (await client_of(None).get("/v1/status"))["active"] is None


async def test_the_active_instance_hands_over() -> None:
    site = Site(2)
    assert await client_of(site).post("/v1/instances/hand-over", {}) == {"standbys": 2}
    assert site.ended == 1


@pytest.mark.parametrize(
    ("site", "message"),
    [
        (Site(0), "there is no standby that could take over"),
        (None, "there is only this instance; several need"),
    ],
)
async def test_without_a_standby_there_is_no_hand_over(site: Site | None, message: str) -> None:
    status, text = await client_of(site).refusal("POST", "/v1/instances/hand-over", {})
    assert status == 409
    assert message in text
