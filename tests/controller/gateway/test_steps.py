from unittest.mock import patch

import pytest

from common.error_codes import ErrorCode
from controller.execution import direct_steps
from controller.gateway import steps
from controller.gateway.events import Measured
from controller.messages.effects import Elect, Submit
from controller.messages.events import Stalled
from controller.messages.job_events import RollBackJob
from controller.model.cluster import Replicas
from controller.model.errors import DONE, Outcome
from controller.model.replicas import StoredReplica, StoredReplicas
from controller.modes import EMBEDDED, GATEWAY, ZOOKEEPER
from controller.reassignment.phases import Phase
from controller.scheduling.limits import Capacity, LimitKind
from controller.state.cluster import Disk
from tests.builders import key
from tests.controller.kraft import Gateway

FOO = ("foo-0", (4, 1))


def submits(gateway: Gateway) -> list[tuple[int, ...] | None]:
    return [row.replicas for row in gateway.kafka.requests]


def test_a_step_is_one_row_of_the_upstream() -> None:
    gateway = Gateway(FOO)
    assert gateway.alter({"foo-0": (2, 3)}) == {"foo-0": DONE}
    assert gateway.effects == [Submit("foo", 0, (2, 3))]
    assert gateway.phase("foo-0") is Phase.MOVING
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-0")] == (2, 3)
    assert gateway.phase("foo-0") is Phase.IDLE
    assert submits(gateway) == [(2, 3)]
    assert gateway.state.gateway.steps == {}


def test_a_cancel_restores_the_order_that_kafka_alone_loses() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (1, 3)})
    gateway.deliver()
    gateway.alter({"foo-0": None})
    gateway.deliver()
    gateway.poll()
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-0")] == (4, 1)
    assert submits(gateway) == [(1, 3), None, (4, 1)]


def test_a_second_cancel_finds_nothing_though_the_undo_still_runs() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (1, 3)})
    gateway.deliver()
    found = [gateway.alter({"foo-0": None})["foo-0"] for _ in range(2)]
    assert found == [DONE, Outcome(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)]
    assert gateway.phase("foo-0") is Phase.MOVING
    assert gateway.settle().kafka.replicas[key("foo-0")] == (4, 1)


def test_a_second_cancel_of_a_rollback_that_copies_replicas_is_accepted() -> None:
    gateway = Gateway(FOO)
    gateway.default("reassignment.max.concurrent.replica.movements.per.partition", "1")
    gateway.alter({"foo-0": (2, 3)})
    while 4 in gateway["foo-0"].replicas:
        gateway.catch_up()
    assert [gateway.alter({"foo-0": None})["foo-0"] for _ in range(2)] == [DONE, DONE]


def test_an_override_leaks_no_replica() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.alter({"foo-0": (5, 6)})
    gateway.deliver()
    gateway.poll()
    gateway.alter({"foo-0": None})
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-0")] == (4, 1)


@pytest.mark.parametrize("target", [(2, 5), (4, 1), (1, 4), (2, 1), (4,)])
@pytest.mark.parametrize("waits_for_added", [False, True])
def test_an_override_is_preceded_by_a_cancel(target: Replicas, waits_for_added: bool) -> None:
    gateway = Gateway(FOO, waits_for_added=waits_for_added)
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.kafka.isr[key("foo-0")] = (4, 1, 2)
    gateway.poll()
    gateway.alter({"foo-0": target})
    assert gateway.settle().kafka.replicas[key("foo-0")] == target
    assert submits(gateway)[:2] == [(2, 3), None]


def test_a_step_that_the_new_target_needs_too_goes_on() -> None:
    gateway = Gateway(FOO)
    gateway.default("reassignment.max.concurrent.replica.movements.per.partition", "1")
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.alter({"foo-0": (2, 5)})
    assert gateway.settle().kafka.replicas[key("foo-0")] == (2, 5)
    assert None not in submits(gateway)


def test_an_override_ends_at_the_new_target() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.alter({"foo-0": (5, 6)})
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-0")] == (5, 6)


def test_a_stop_keeps_the_list_before_the_step_in_flight() -> None:
    gateway = Gateway(FOO)
    gateway.default("reassignment.cancel.mode", "stop")
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.kafka.isr[key("foo-0")] = (4, 1, 2)
    gateway.poll()
    gateway.alter({"foo-0": None})
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-0")] == (1, 4)
    assert gateway.state.gateway.steps == {}


def test_a_job_that_was_stopped_before_any_replica_arrived_can_be_rolled_back() -> None:
    gateway = Gateway(FOO)
    gateway.default("reassignment.cancel.mode", "stop")
    gateway.alter({"foo-0": (1, 3)})
    gateway.deliver()
    gateway.alter({"foo-0": None})
    assert gateway.settle().kafka.replicas[key("foo-0")] == (1, 4)
    assert gateway.do(RollBackJob(1)).reply.skipped == []
    assert gateway.settle().kafka.replicas[key("foo-0")] == (4, 1)


def test_an_order_after_a_stop_starts_from_the_list_before_the_step() -> None:
    gateway = Gateway(("foo-0", (1, 2)))
    gateway.default("reassignment.cancel.mode", "stop")
    gateway.alter({"foo-0": (1, 2, 3)})
    gateway.deliver()
    gateway.alter({"foo-0": None})
    gateway.alter({"foo-0": (1, 2, 3)})
    wanted = gateway.reassignment_of("foo-0")
    assert wanted is not None
    assert wanted.original == (1, 2)
    assert gateway.settle().kafka.replicas[key("foo-0")] == (1, 2, 3)


def test_a_small_step_elects_the_new_leader_before_the_next_one() -> None:
    gateway = Gateway(FOO)
    gateway.default("reassignment.max.concurrent.replica.movements.per.partition", "1")
    gateway.alter({"foo-0": (2, 3)})
    gateway.settle()
    assert Elect("foo", 0) in gateway.effects
    assert submits(gateway)[0] == (2, 4, 1)
    assert gateway.kafka.replicas[key("foo-0")] == (2, 3)
    assert gateway.kafka.leader[key("foo-0")] == 2


def test_a_partition_that_has_its_list_is_only_elected() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (1, 4)})
    gateway.settle()
    assert gateway.kafka.leader[key("foo-0")] == 4
    gateway.alter({"foo-0": (1, 4)}, elects=True)
    gateway.settle()
    assert Elect("foo", 0) in gateway.effects
    assert (gateway.kafka.leader[key("foo-0")], gateway.phase("foo-0")) == (1, Phase.IDLE)


def test_a_failed_leader_election_does_not_delay_the_move() -> None:
    gateway = Gateway(FOO)
    gateway.kafka.elect = lambda name: None  # type: ignore[method-assign]
    gateway.default("reassignment.max.concurrent.replica.movements.per.partition", "1")
    gateway.alter({"foo-0": (2, 3)})
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-0")] == (2, 3)


def test_a_move_waits_for_room_on_the_disk_of_its_target() -> None:
    gateway = Gateway(FOO)
    gateway.do(Measured({key("foo-0"): 50}, {2: [Disk("/a", 100, 30, 1)], 3: [Disk("/b", 100, 90, 1)]}))
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.phase("foo-0") is Phase.WAITING
    assert gateway.waiting_reason("foo-0") == "broker 2: /a would be 120% full, 90% is the most"


def test_a_move_does_not_wait_for_room_in_a_cordoned_directory() -> None:
    gateway = Gateway(FOO)
    disks = [Disk("/a", 100, 0, 1, cordoned=True), Disk("/b", 100, 90, 2)]
    gateway.do(Measured({key("foo-0"): 50}, {2: disks}))
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.settle().kafka.replicas[key("foo-0")] == (2, 3)


def test_a_move_does_not_wait_for_copies_to_other_directories_of_its_target() -> None:
    gateway = Gateway(FOO, ("foo-1", (1, 4)))
    disks = {2: [Disk("/a", 100, 60, 1), Disk("/b", 200, 150, 9)]}
    gateway.do(Measured({key("foo-0"): 32, key("foo-1"): 32}, disks))
    gateway.alter({"foo-1": (1, 2)})
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.waiting_reason("foo-0") == "broker 2: /a would be 104% full, 90% is the most"
    gateway.do(Measured({}, disks, {key("foo-1"): [StoredReplica(2, 1, "/b")]}))
    assert gateway["foo-0"].moving


def test_directories_of_steps_in_flight_are_looked_up_once_for_all_that_wait() -> None:
    names = [f"foo-{number}" for number in range(60)]
    gateway = Gateway(*((name, (4, 1)) for name in names))
    gateway.do(Measured(dict.fromkeys(map(key, names), 8), {2: [Disk("/a", 1000, 500, 1)]}))
    gateway.default("reassignment.max.concurrent.partition.movements", "20")
    gateway.alter(dict.fromkeys(names, (2, 1)))
    arrived = {key(name): [StoredReplica(2, 1, "/b")] for name in names if gateway[name].moving}
    gateway.do(Measured({}, {2: [Disk("/a", 1000, 50, 1)]}, arrived))
    with patch.object(StoredReplicas, "on", autospec=True, side_effect=StoredReplicas.on) as on:
        gateway.default("reassignment.max.concurrent.partition.movements", "60")
    assert gateway.waiting_reason("foo-59").startswith("broker 2: /a would be")
    assert 0 < on.call_count <= len(arrived)


def test_a_leader_that_does_not_report_its_size_counts_as_the_largest_replica() -> None:
    gateway = Gateway(FOO)
    stored = {key("foo-0"): [StoredReplica(9, 70, "/a"), StoredReplica(1, 50, "/a")]}
    gateway.do(Measured({}, {2: [Disk("/a", 100, 30, 1)]}, stored))
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.waiting_reason("foo-0") == "broker 2: /a would be 120% full, 90% is the most"


def test_a_copy_has_the_size_of_the_replica_that_leads_now() -> None:
    gateway = Gateway(FOO)
    stored = [StoredReplica(4, 10, "/a"), StoredReplica(1, 50, "/a")]
    gateway.do(Measured({key("foo-0"): 10}, {2: [Disk("/a", 100, 50, 1)]}, {key("foo-0"): stored}))
    gateway.kafka.leader[key("foo-0")] = 1
    gateway.poll()
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.waiting_reason("foo-0") == "broker 2: /a would be 100% full, 90% is the most"


def test_a_stopped_step_counts_against_the_limits_until_the_upstream_has_stopped_it() -> None:
    gateway = Gateway(FOO, ("foo-1", (5, 6)))
    gateway.with_limits(partitions=1).default("reassignment.cancel.mode", "stop")
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.poll()
    gateway.alter({"foo-0": None})
    gateway.alter({"foo-1": (7, 6)})
    assert not gateway["foo-1"].moving
    assert gateway.settle().kafka.replicas[key("foo-1")] == (7, 6)
    assert len(gateway.state.backlog.costs) == 0


def stalled(target: Replicas, isr: Replicas) -> Gateway:
    """Return a stalled step from (1, 2, 3) to `target` with this ISR."""
    gateway = Gateway(("foo-0", (1, 2, 3)))
    gateway.with_topic_config("min.insync.replicas", "3").alter({"foo-0": target})
    gateway.deliver()
    gateway.kafka.isr[key("foo-0")] = isr
    gateway.poll()
    gateway.do(Stalled([key("foo-0")]))
    gateway.deliver()
    return gateway


def test_a_stalled_step_without_new_replicas_in_sync_is_undone() -> None:
    assert submits(stalled((4, 5, 6), (1, 2, 3)))[-1] is None


@pytest.mark.parametrize(
    ("target", "isr"),
    [((1, 2, 4), (1, 3, 4)), ((4, 5, 6), (1, 3, 4)), ((4, 5, 6), (1, 2, 3, 4))],
)
def test_a_stalled_step_that_the_upstream_cannot_end_only_releases_its_capacity(
    target: Replicas, isr: Replicas
) -> None:
    gateway = stalled(target, isr)
    assert submits(gateway) == [target]
    assert len(gateway.state.backlog.costs) == 1
    assert gateway.state.backlog.usage.taken(Capacity(LimitKind.REPLICAS)) == len(set(target) - {1, 2, 3, 4})


def test_only_a_gateway_leaves_steps_to_the_upstream() -> None:
    assert (EMBEDDED.executor, ZOOKEEPER.executor, GATEWAY.executor) == (direct_steps, direct_steps, steps)
