"""The kinds of the reasons that the controller gives."""

import pytest

from controller.messages.job_events import Pause
from controller.model.configs import SCHEDULE
from controller.views.jobs import PartState, waiting_reason
from controller.views.reason_kinds import OTHER, REASON_KINDS, reason_kind
from tests.builders import InMemoryController, key, partition


def cluster(count: int = 2) -> InMemoryController:
    return InMemoryController().with_partitions(*(partition(f"foo-{n}", (1, 2, 3)) for n in range(count)))


def kind_of(controller: InMemoryController, name: str) -> str:
    return reason_kind(waiting_reason(controller.state, controller.state.orders.reassignments[key(name)]))


def test_a_limit_and_a_pause() -> None:
    controller = cluster().with_limits(partitions=1)
    controller.alter({"foo-0": (4, 2, 3), "foo-1": (4, 2, 3)})
    assert kind_of(controller, "foo-1") == "limit"
    controller.do(Pause(1, True))
    assert kind_of(controller, "foo-1") == "paused"
    controller.do(Pause(None, True))
    assert kind_of(controller, "foo-1") == "paused"


def test_an_offline_broker() -> None:
    controller = cluster()
    controller.stop(6)
    controller.alter({"foo-0": (6, 2, 3)})
    assert kind_of(controller, "foo-0") == "broker_offline"


def test_the_schedule() -> None:
    controller = cluster()
    controller.default(SCHEDULE, "00:01-00:02")
    controller.alter({"foo-0": (4, 2, 3)})
    assert kind_of(controller, "foo-0") == "schedule"


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("the partition has no leader", "no_leader"),
        ("too few replicas are in sync (min.insync.replicas 2)", "min_isr"),
        ("broker 3: /data would be 97% full, 90% is the most", "disk_space"),
        ("another client changed its replicas to [1, 4]", "blocked"),
        ("another client moves it to [1, 4]", "blocked"),
        ("cancelled by another client", "blocked"),
        ("the upstream refused it: no", "refused"),
        ("another client moves it: the target starts when that move ends", "earlier_move"),
        (PartState.PENDING.value, "earlier_move"),
        ("target brokers 3, 4 are down", "stalled"),
        ("the cluster is unhealthy: missing: broker 3", "health_guard"),
        ("waits for its turn", "turn"),
        ("something new", OTHER),
    ],
)
def test_the_beginning_of_a_reason_tells_its_kind(reason: str, kind: str) -> None:
    assert reason_kind(reason) == kind
    assert kind in REASON_KINDS
