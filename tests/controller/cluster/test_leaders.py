import pytest

from common.error_codes import ErrorCode
from controller.cluster.leaders import PARTITIONS_PER_SLICE
from controller.machine import decide
from controller.messages.events import ElectionType, ElectLeaders, RebalanceLeaders
from controller.model.cluster import NO_LEADER, TopicPartition
from controller.model.errors import DONE
from controller.state.state import Decision
from tests.builders import InMemoryController, key, partition


@pytest.fixture
def controller() -> InMemoryController:
    return InMemoryController().with_partitions(
        partition("foo-0", (1, 2, 3), leader=2), partition("foo-1", (2, 3))
    )


def elect(
    controller: InMemoryController, *names: str, election: ElectionType = ElectionType.PREFERRED
) -> dict[str, ErrorCode]:
    rows = controller.do(ElectLeaders(election, [key(name) for name in names])).reply
    return {str(each): outcome.error for each, outcome in rows}


def test_the_preferred_leader_is_elected_when_it_is_in_sync(controller: InMemoryController) -> None:
    assert elect(controller, "foo-0") == {"foo-0": ErrorCode.NONE}
    assert (controller["foo-0"].leader, controller["foo-0"].leader_epoch) == (1, 1)


def test_a_named_partition_that_needs_no_election_is_answered(controller: InMemoryController) -> None:
    assert elect(controller, "foo-1") == {"foo-1": ErrorCode.ELECTION_NOT_NEEDED}


def test_an_election_of_all_omits_partitions_that_need_none(controller: InMemoryController) -> None:
    assert controller.do(ElectLeaders(ElectionType.PREFERRED, None)).reply == [(key("foo-0"), DONE)]


def test_an_unknown_partition_is_named(controller: InMemoryController) -> None:
    ((_, outcome),) = controller.do(ElectLeaders(ElectionType.PREFERRED, [TopicPartition("bar", 1)])).reply
    assert outcome == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "No such partition as bar-1.")


@pytest.mark.parametrize("trouble", ["out of sync", "dead", "leaving"])
def test_a_preferred_leader_that_cannot_lead_is_not_elected(
    controller: InMemoryController, trouble: str
) -> None:
    if trouble == "out of sync":
        controller.put(controller["foo-0"]._replace(isr=(2, 3)))
    elif trouble == "dead":
        controller.state.cluster.live.discard(1)
    else:
        controller.state.cluster.shutting_down.add(1)
    assert elect(controller, "foo-0") == {"foo-0": ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}


def test_an_adding_replica_that_is_preferred_and_in_sync_may_be_elected(
    controller: InMemoryController,
) -> None:
    controller.alter({"foo-1": (4, 5)})
    controller.isr("foo-1", (2, 3, 4))
    assert elect(controller, "foo-1") == {"foo-1": ErrorCode.NONE}
    assert (controller["foo-1"].leader, controller["foo-1"].adding) == (4, (4, 5))


def test_an_unclean_election_ignores_the_config_and_the_isr(controller: InMemoryController) -> None:
    controller.put(controller["foo-1"]._replace(leader=NO_LEADER, isr=(2,)))
    controller.state.cluster.live.discard(2)
    assert elect(controller, "foo-1", election=ElectionType.UNCLEAN) == {"foo-1": ErrorCode.NONE}
    assert (controller["foo-1"].leader, controller["foo-1"].isr) == (3, (3,))


def test_an_order_that_waits_for_a_leader_begins_with_an_unclean_election(
    controller: InMemoryController,
) -> None:
    controller.put(controller["foo-1"]._replace(leader=NO_LEADER, isr=(2,)))
    controller.state.cluster.live.discard(2)
    controller.alter({"foo-1": (3, 4)})
    assert controller.waiting_reason("foo-1") == "the partition has no leader: broker 2 down"
    elect(controller, "foo-1", election=ElectionType.UNCLEAN)
    assert controller.replicas("foo-1") == (3, 4, 2)


def test_an_unclean_election_is_not_needed_with_a_leader(controller: InMemoryController) -> None:
    assert elect(controller, "foo-1", election=ElectionType.UNCLEAN) == {
        "foo-1": ErrorCode.ELECTION_NOT_NEEDED
    }


def test_without_live_replicas_no_leader_is_elected(controller: InMemoryController) -> None:
    for broker in (2, 3):
        controller.stop(broker)
    found = elect(controller, "foo-1", election=ElectionType.UNCLEAN)
    assert found == {"foo-1": ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}


def test_an_election_of_many_partitions_is_sliced() -> None:
    count = PARTITIONS_PER_SLICE + 1
    controller = InMemoryController().with_partitions(
        *(partition(f"foo-{n}", (1, 2), leader=2) for n in range(count))
    )
    d = Decision(controller.state)
    slices = decide(d, ElectLeaders(ElectionType.PREFERRED, None))
    next(slices)
    assert len(d.changes) == PARTITIONS_PER_SLICE
    assert list(slices) == []
    assert len(d.reply) == count


def rebalance(controller: InMemoryController, percentage: int = 10) -> int:
    reply: int = controller.do(RebalanceLeaders(percentage)).reply
    return reply


@pytest.mark.parametrize(("percentage", "elected"), [(9, 1), (10, 0), (0, 1), (100, 0)])
def test_a_broker_regains_its_preferred_partitions_above_an_imbalance_percentage(
    percentage: int, elected: int
) -> None:
    led = (partition(f"bar-{n}", (1, 2)) for n in range(9))
    controller = InMemoryController().with_partitions(*led, partition("foo-0", (1, 2), leader=2))
    assert rebalance(controller, percentage) == elected
    assert controller["foo-0"].leader == (1 if elected else 2)


def test_the_imbalance_is_computed_per_broker() -> None:
    others = (partition(f"bar-{n}", (2, 1)) for n in range(20))
    controller = InMemoryController().with_partitions(
        *others, partition("baz-0", (2, 1), leader=1), partition("foo-0", (1, 2), leader=2)
    )
    assert rebalance(controller) == 1
    assert (controller["foo-0"].leader, controller["baz-0"].leader) == (1, 1)


def test_partitions_with_a_reassignment_are_not_rebalanced(controller: InMemoryController) -> None:
    controller.alter({"foo-0": (1, 4, 5)})
    assert rebalance(controller) == 0
    assert controller["foo-0"].leader == 2


def test_rebalancing_skips_a_preferred_leader_that_cannot_lead(
    controller: InMemoryController,
) -> None:
    controller.state.cluster.live.discard(1)
    assert rebalance(controller) == 0


def test_rebalancing_is_sliced() -> None:
    count = 2 * PARTITIONS_PER_SLICE
    controller = InMemoryController().with_partitions(
        *(partition(f"foo-{n}", (1, 2), leader=2) for n in range(count))
    )
    d = Decision(controller.state)
    assert len(list(decide(d, RebalanceLeaders(10)))) == 4
    assert d.reply == count
