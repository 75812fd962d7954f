import pytest

from tests.server.scraping import cluster, scrape, value


@pytest.mark.parametrize(
    ("name", "expected"),
    [("offline", 1), ("under_replicated", 1), ("under_min_isr", 1)],
)
def test_unhealthy_partitions_are_counted(name: str, expected: float) -> None:
    assert value(scrape(cluster()), f"reassignd_{name}_partitions") == expected


def test_brokers_are_counted_by_state() -> None:
    samples = scrape(cluster())
    assert value(samples, "reassignd_brokers", state="online") == 2
    assert value(samples, "reassignd_brokers", state="offline") == 1


def test_moving_partitions_have_no_gauges_of_their_own_by_default() -> None:
    assert not [name for name, _ in scrape(cluster()) if name.startswith("reassignd_moving_partition_")]


def test_a_moving_partition_is_not_under_replicated_because_of_adding_replicas() -> None:
    samples = scrape(cluster(), moving_partitions=10)
    name = "reassignd_moving_partition_under_replicated"
    assert value(samples, name, topic="t", partition="2") == 0


def test_the_number_of_moving_partitions_with_gauges_is_bounded() -> None:
    state = cluster()
    moving = state.partitions["t"][2]
    state.put(moving._replace(partition=3))
    names = [name for name, _ in scrape(state, moving_partitions=1)]
    assert names.count("reassignd_moving_partition_under_replicated") == 1
