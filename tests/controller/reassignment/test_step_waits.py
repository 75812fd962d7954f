"""The reason of each step that waits: added, kept, dropped and leading replicas that are dead, lagging or in sync."""

import pytest

from controller.model.cluster import NO_LEADER
from controller.model.profile import EMBEDDED, GATEWAY, ZOOKEEPER, ClusterProfile
from controller.reassignment.step_waits import step_waits
from controller.state.state import State
from tests.builders import InMemoryController, partition

ADDED, KEPT, DROPPED = 4, 2, 1


def waits(
    profile: ClusterProfile, *, isr: tuple[int, ...], dead: int | None = None, leader: int = KEPT
) -> str:
    """Return what a step from (1, 2) to (4, 2) waits for."""
    state: State = InMemoryController(broker for broker in range(1, 5) if broker != dead).state
    state.profile = profile
    moving = partition("foo-0", (ADDED, KEPT, DROPPED), isr=isr, leader=leader)
    return step_waits(state, moving._replace(adding=(ADDED,), removing=(DROPPED,)))


@pytest.mark.parametrize("profile", [EMBEDDED, ZOOKEEPER, GATEWAY], ids=["embedded", "zookeeper", "gateway"])
@pytest.mark.parametrize(
    ("isr", "dead", "leader", "reason"),
    [
        ((2, 1), ADDED, KEPT, "target broker 4 is down"),
        ((2, 1), None, KEPT, ""),
        ((4, 2, 1), None, KEPT, ""),
        ((4, 1), KEPT, DROPPED, "offline: broker 2, which keeps a replica"),
        ((4, 1), None, DROPPED, "not in sync: broker 2, which keeps a replica"),
        ((4, 2), DROPPED, KEPT, ""),
        ((4, 2), None, KEPT, ""),
        ((2,), KEPT, KEPT, "offline: broker 2, which leads the partition"),
        ((2,), KEPT, NO_LEADER, "the partition has no leader: broker 2 down"),
        ((1,), DROPPED, NO_LEADER, "the partition has no leader: broker 1 down"),
    ],
    ids=[
        "added dead",
        "added lagging",
        "added in sync",
        "kept dead",
        "kept lagging",
        "dropped dead",
        "dropped lagging",
        "leader dead, still named",
        "leader dead, kept",
        "leader dead, dropped",
    ],
)
def test_the_reason_names_the_broker_that_the_step_waits_for(
    profile: ClusterProfile, isr: tuple[int, ...], dead: int | None, leader: int, reason: str
) -> None:
    assert waits(profile, isr=isr, dead=dead, leader=leader) == reason


def test_a_step_that_only_drops_waits_for_those_that_stay() -> None:
    state = InMemoryController([1, 2]).state
    shrinking = partition("foo-0", (3, 1, 2), isr=(1, 2), leader=1)._replace(removing=(1, 2))
    assert step_waits(state, shrinking) == "offline: broker 3, which keeps a replica"


def test_a_reason_names_a_few_brokers() -> None:
    state = InMemoryController([1]).state
    replicas = tuple(range(1, 10))
    waiting = partition("foo-0", replicas, isr=(1,))._replace(removing=(1,))
    assert step_waits(state, waiting) == "offline: brokers 2, 3, 4, 5, 6 and 3 more, which keep a replica"
