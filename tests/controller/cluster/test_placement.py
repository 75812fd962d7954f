from collections import Counter
from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.cluster.placement import interleave_racks, place

RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}


def test_neighbours_are_in_different_racks_as_far_as_racks_allow() -> None:
    assert interleave_racks(RACKS) == [1, 3, 5, 2, 4, 6]
    assert interleave_racks({1: "a", 2: "a", 3: "a", 4: "b"}) == [1, 4, 2, 3]


def test_without_racks_brokers_are_in_order() -> None:
    assert interleave_racks({3: None, 1: None, 2: None}) == [1, 2, 3]


def test_each_broker_leads_in_turn_and_each_rack_has_a_replica() -> None:
    lists = list(islice(place(RACKS, 3, 0), 36))
    assert Counter(replicas[0] for replicas in lists) == dict.fromkeys(RACKS, 6)
    assert all(len({RACKS[r] for r in replicas}) == 3 for replicas in lists)


def test_the_followers_of_a_leader_change_from_round_to_round() -> None:
    lists = list(islice(place(dict.fromkeys(range(4)), 2, 0), 12))
    assert len(set(lists)) == 12


def test_placement_continues_after_the_last_position() -> None:
    assert list(islice(place(RACKS, 2, 0), 5, 9)) == list(islice(place(RACKS, 2, 5), 4))


def test_a_single_broker_holds_all_partitions() -> None:
    assert list(islice(place({7: None}, 1, 3), 2)) == [(7,), (7,)]


@settings(max_examples=40)
@given(st.dictionaries(st.integers(0, 20), st.sampled_from(["a", "b", "c", None]), min_size=1), st.data())
def test_a_list_has_as_many_different_brokers_as_asked_for(
    racks: dict[int, str | None], data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, len(racks)))
    for replicas in islice(place(racks, factor, data.draw(st.integers(0, 99))), 30):
        assert len(set(replicas)) == len(replicas) == factor
        assert set(replicas) <= racks.keys()
        assert len({racks[r] for r in replicas}) == min(factor, len(set(racks.values())))
