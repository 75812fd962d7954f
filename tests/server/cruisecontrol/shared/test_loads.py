"""What brokers carry before and after a plan: nothing is lost, nothing comes from nowhere."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from controller.model.load import LoadPage, LoadRow, LoadSort, LoadSummary, LoadUnit, Rates
from controller.state.cluster import Disk
from server.api.shared.proposals import ProposedBroker, ProposedLoad
from server.cruisecontrol.shared.loads import BrokerRow, Change, cluster_load, led_by, planned_rows


class EveryPartition:
    """Each partition has 1,000 bytes a second in, and 500 out."""

    def summary(self) -> LoadSummary:
        return LoadSummary(True)

    def by_broker(self) -> Sequence[LoadRow]:
        return ()

    def page(self, by: LoadUnit, sort: LoadSort, offset: int, limit: int) -> LoadPage:
        return LoadPage((), 0)

    def rates(self, topic: str, partition: int) -> Rates | None:
        return Rates(1000.0, 500.0)


def row(broker: int, *rates: float) -> BrokerRow:
    leader_in, follower_in, bytes_out, potential_out = rates or (None, None, None, None)
    held = BrokerRow(broker, f"host-{broker}", "r", "ALIVE", 1, 1, 2**20, None)
    return replace(
        held, leader_in=leader_in, follower_in=follower_in, bytes_out=bytes_out, potential_out=potential_out
    )


def figures(*brokers: int) -> list[ProposedBroker]:
    load = ProposedLoad(2, 1, 2**21)
    return [ProposedBroker(each, "r", True, ProposedLoad(1, 1, 2**20), load, 0, 0, None) for each in brokers]


def test_rates_move_with_leaders_and_followers() -> None:
    now = [row(1, 1000.0, 0.0, 500.0, 500.0), row(2, 0.0, 1000.0, 0.0, 500.0), row(3, 0.0, 0.0, 0.0, 0.0)]
    _, after = planned_rows(now, figures(1, 2, 3), [Change("foo", 0, (1, 2), (3, 1))], EveryPartition())
    found = [(each.leader_in, each.follower_in, each.bytes_out, each.potential_out) for each in after]
    assert found == [(0, 1000, 0, 500), (0, 0, 0, 0), (1000, 0, 500, 500)]
    assert [(each.replicas, each.bytes) for each in after] == [(2, 2**21)] * 3


def test_an_election_moves_what_the_present_leader_carries() -> None:
    now = [row(1, 0.0, 1000.0, 0.0, 500.0), row(2, 1000.0, 0.0, 500.0, 500.0)]
    change = led_by(Change("foo", 0, (1, 2), (1, 2)), 2)
    _, after = planned_rows(now, figures(1, 2), [change], EveryPartition())
    assert [(each.leader_in, each.follower_in) for each in after] == [(1000, 0), (0, 1000)]


def test_unknown_rates_are_minus_one_and_never_0() -> None:
    """Cruise Control's UI stops at an absent number."""
    before, after = planned_rows([row(1)], figures(1, 2), [Change("foo", 0, (1,), (2,))], EveryPartition())
    shown = msgspec.json.decode(msgspec.json.encode(cluster_load(after)))["brokers"][0]
    assert (after[0].leader_in, before[1].host) == (None, "")
    assert shown["DiskMB"] == 2.0
    names = ("LeaderNwInRate", "NwOutRate", "DiskPct", "CpuPct")
    assert [shown[name] for name in names] == [-1.0] * 4


def test_the_only_directory_of_a_broker_gets_what_the_broker_gets_and_of_several_none_is_known() -> None:
    one, two = Disk("/a", 2**30, 2**29, 1), Disk("/b", 2**30, 2**29, 1)
    now = [replace(row(1), disks=[one]), replace(row(2), disks=[one, two]), replace(row(3), disks=[one, two])]
    planned = [structs.replace(each, gains=each.broker < 3) for each in figures(1, 2, 3)]
    before, after = planned_rows(now, planned, [], EveryPartition())
    assert [each.disks for each in before] == [[one], [one, two], [one, two]]
    assert [each.disks for each in after] == [[one._replace(usable=2**29 - 2**20)], None, [one, two]]


lists = st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True).map(tuple)


@given(st.lists(st.tuples(lists, lists), max_size=8))
def test_a_plan_keeps_what_is_written_to_leaders(
    pairs: list[tuple[tuple[int, ...], tuple[int, ...]]],
) -> None:
    now = [row(each, 1e6, 1e6, 1e6, 1e6) for each in range(1, 5)]
    changes = [Change("foo", number, *pair) for number, pair in enumerate(pairs)]
    before, after = planned_rows(now, figures(1, 2, 3, 4), changes, EveryPartition())
    assert [each.id for each in before] == [each.id for each in after]
    for rate in ("leader_in", "bytes_out"):
        sums = [sum(getattr(each, rate) for each in rows) for rows in (before, after)]
        assert sums[0] == pytest.approx(sums[1])
