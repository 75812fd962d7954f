from dataclasses import replace

from common.error_codes import ErrorCode
from controller.gateway.events import Measured, TopicConfigsSeen, Unreachable
from controller.gateway.polled import active_topics
from controller.messages.effects import Submit
from controller.messages.events import Stalled
from controller.messages.job_events import Pause, RollBackJob
from controller.model.errors import DONE
from controller.model.thresholds import EXTERNAL_MOVE
from controller.reassignment.phases import Phase
from controller.state.cluster import Disk
from controller.views.limit_preview import preview_limits
from controller.views.reassignments import ongoing
from tests.builders import key
from tests.controller.kraft import Gateway

FOO = ("foo-0", (4, 1))
BYTES = "reassignment.max.concurrent.bytes"


def test_a_poll_is_applied_to_the_state() -> None:
    gateway = Gateway(FOO, ("foo-1", (1, 2)), ("bar-0", (3,)))
    assert gateway["foo-1"].replicas == (1, 2)
    assert gateway["bar-0"].leader == 3
    assert gateway.state.cluster.live == set(range(1, 9))


def test_an_unchanged_poll_changes_nothing() -> None:
    gateway = Gateway(FOO)
    assert gateway.do(gateway.kafka.poll()).changes == []


def test_external_moves_are_listed_and_count_against_the_limits() -> None:
    gateway = Gateway(FOO, ("foo-1", (1, 2)))
    gateway.default("reassignment.max.concurrent.partition.movements", "1")
    gateway.kafka.alter(key("foo-0"), (2, 3))
    gateway.poll()
    assert gateway.phase("foo-0") is Phase.EXTERNAL
    assert [(row.topic, row.partition, row.adding) for row in ongoing(gateway.state)] == [("foo", 0, (2, 3))]
    gateway.alter({"foo-1": (3, 4)})
    assert gateway.phase("foo-1") is Phase.QUEUED
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-1")] == (3, 4)


def test_an_external_move_can_be_cancelled_and_replaced() -> None:
    gateway = Gateway(FOO, ("foo-1", (1, 2)))
    for name in ("foo-0", "foo-1"):
        gateway.kafka.alter(key(name), (5, 6))
    gateway.poll()
    assert gateway.alter({"foo-0": None}) == {"foo-0": DONE}
    assert gateway.effects[-1] == Submit("foo", 0, None)
    assert gateway.alter({"foo-0": None})["foo-0"].error is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    gateway.alter({"foo-1": (5, 7)})
    gateway.settle()
    assert gateway.kafka.replicas == {key("foo-0"): (1, 4), key("foo-1"): (5, 7)}


def test_an_order_with_the_target_of_an_external_move_undoes_nothing() -> None:
    gateway = Gateway(FOO)
    gateway.kafka.alter(key("foo-0"), (5, 6))
    gateway.poll()
    gateway.alter({"foo-0": (5, 6)})
    assert gateway.settle().kafka.replicas[key("foo-0")] == (5, 6)
    assert [row.replicas for row in gateway.kafka.requests] == [(5, 6), (5, 6)]
    assert gateway.state.orders.finished[1][key("foo-0")].original == (1, 4)


def test_replicas_in_a_failed_directory_of_a_live_broker_are_known_until_they_are_online() -> None:
    gateway = Gateway(FOO)
    topic = gateway.kafka.poll().topics[0]
    shown = topic._replace(partitions={0: topic.partitions[0]._replace(isr=(4,))}, offline={0: (1,)})
    poll = gateway.kafka.poll()
    gateway.do(replace(poll, topics=[shown]))
    assert gateway.state.cluster.failed_replicas(gateway["foo-0"]) == (1,)
    gateway.do(replace(poll, topics=[shown._replace(offline={})]))
    assert gateway.state.cluster.failed == {}
    gateway.kafka.down.add(1)
    gateway.do(replace(gateway.kafka.poll(), topics=[shown]))
    assert gateway.state.cluster.failed == {}


def test_a_broker_that_lags_tells_nothing_of_failed_directories() -> None:
    gateway = Gateway(FOO)
    poll = gateway.kafka.poll()
    topic = poll.topics[0]
    newer = topic.partitions[0]._replace(isr=(4,), leader_epoch=topic.partitions[0].leader_epoch + 1)
    gateway.do(replace(poll, topics=[topic._replace(partitions={0: newer}, offline={0: (1,)})]))
    gateway.do(replace(poll, topics=[topic]))
    assert gateway.state.cluster.failed_replicas(gateway["foo-0"]) == (1,)


def test_a_step_that_waits_for_a_broker_starts_when_it_returns() -> None:
    gateway = Gateway(FOO)
    gateway.default("reassignment.health.guard", "off")
    gateway.kafka.down.add(2)
    gateway.poll()
    gateway.default("reassignment.max.concurrent.replica.movements.per.partition", "1")
    gateway.alter({"foo-0": (2, 1)})
    assert gateway.phase("foo-0") is Phase.WAITING
    gateway.kafka.down.clear()
    gateway.poll()
    assert gateway.settle().kafka.replicas[key("foo-0")] == (2, 1)


def test_no_step_starts_while_the_upstream_cannot_be_polled() -> None:
    gateway = Gateway(FOO)
    gateway.do(Unreachable("connection refused"))
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.phase("foo-0") is Phase.QUEUED
    gateway.poll()
    assert gateway.phase("foo-0") is Phase.MOVING


def test_sightings_start_again_after_an_outage() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.kafka.alter(key("foo-0"), (5, 6))
    for _ in range(EXTERNAL_MOVE.polls - 1):
        gateway.poll()
    gateway.do(Unreachable("connection refused"))
    gateway.poll()
    sighting = gateway.state.gateway.tracking[key("foo-0")].sighting
    assert sighting is not None
    assert sighting.polls == 1
    assert gateway.phase("foo-0") is Phase.MOVING


def test_sizes_bound_the_bytes_in_flight() -> None:
    gateway = Gateway(FOO, ("foo-1", (1, 2)))
    gateway.do(Measured({key("foo-0"): 1000, key("foo-1"): 1000}, {}))
    gateway.default(BYTES, "1500")
    gateway.alter({"foo-0": (2, 3), "foo-1": (3, 4)})
    assert gateway.in_flight() == ["foo-0"]
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-1")] == (3, 4)


def test_polled_topic_configs_are_added_and_removed() -> None:
    gateway = Gateway(FOO)
    gateway.do(TopicConfigsSeen({"foo": {"min.insync.replicas": "2"}}))
    assert gateway.state.settings.min_isr("foo") == 2
    gateway.do(TopicConfigsSeen({"foo": {"min.insync.replicas": None}}))
    assert gateway.state.settings.min_isr("foo") == 1


def test_a_partition_that_waits_for_a_leader_continues_when_it_has_one() -> None:
    gateway = Gateway(FOO)
    gateway.kafka.leader[key("foo-0")] = -1
    gateway.poll()
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.waiting_reason("foo-0") == "the partition has no leader"
    gateway.kafka.leader[key("foo-0")] = 4
    gateway.poll()
    assert gateway.phase("foo-0") is Phase.MOVING


def test_a_partition_that_waits_for_disk_space_continues_when_there_is_some() -> None:
    gateway = Gateway(FOO)
    sizes = {key("foo-0"): 50}
    gateway.do(Measured(sizes, {2: [Disk("/a", 100, 10, 1)]}))
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.phase("foo-0") is Phase.WAITING
    gateway.do(Measured(sizes, {2: [Disk("/a", 100, 90, 1)]}))
    assert gateway.phase("foo-0") is Phase.MOVING


def test_frequent_polls_confirm_no_discrepancy() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.kafka.alter(key("foo-0"), None)
    for _ in range(2 * EXTERNAL_MOVE.polls):
        gateway.do(replace(gateway.kafka.poll(), whole=False, brokers=None, conclusive=False))
    assert gateway.phase("foo-0") is Phase.MOVING
    assert gateway.state.gateway.tracking == {}


def just_ended() -> Gateway:
    """Return a gateway that has seen the end of a step in a poll that does not prove it."""
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.kafka.catch_up(key("foo-0"))
    gateway.do(replace(gateway.kafka.poll(), whole=False, brokers=None, conclusive=False))
    return gateway


def test_a_step_that_has_just_ended_can_be_rolled_back() -> None:
    gateway = just_ended()
    assert gateway.do(RollBackJob(1)).reply.skipped == []
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-0")] == (4, 1)


def test_a_step_that_has_just_ended_can_be_cancelled() -> None:
    gateway = just_ended()
    assert gateway.alter({"foo-0": None}) == {"foo-0": DONE}
    gateway.settle()
    assert set(gateway.kafka.replicas[key("foo-0")]) == {4, 1}


def test_steps_in_flight_are_found_without_scanning_waiting_reassignments() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    assert gateway.state.in_flight.at_upstream() == [key("foo-0")]
    assert active_topics(gateway.state) == {"foo"}
    gateway.settle()
    assert not gateway.state.in_flight.at_upstream()
    assert not active_topics(gateway.state)


def test_the_cancel_of_an_external_move_is_kept_until_it_is_done() -> None:
    gateway = Gateway(FOO)
    gateway.kafka.alter(key("foo-0"), (5, 6))
    gateway.poll()
    gateway.alter({"foo-0": None})
    again = gateway.successor()
    again.settle()
    assert again.kafka.replicas[key("foo-0")] == (1, 4)
    assert (again.state.gateway.steps, again.state.gateway.external) == ({}, set())
    assert len(again.state.backlog.costs) == 0


def test_a_move_of_others_that_stands_still_is_theirs_to_take_back() -> None:
    gateway = Gateway(FOO)
    gateway.do(Pause(None, True))
    gateway.alter({"foo-0": (2, 3)})
    gateway.kafka.alter(key("foo-0"), (5, 6))
    gateway.poll()
    gateway.do(Stalled([key("foo-0")]))
    gateway.deliver()
    assert gateway.kafka.moves(key("foo-0"))


def test_an_external_move_is_charged_again_when_its_target_changes() -> None:
    gateway = Gateway(FOO)
    for target in ((5, 1), (6, 7)):
        gateway.kafka.alter(key("foo-0"), target)
        gateway.poll()
    taken = gateway.state.backlog.usage.brokers()
    assert taken == {6, 7, 4}


def test_a_step_that_a_stop_left_in_flight_is_listed_and_counts_until_it_is_over() -> None:
    gateway = Gateway(FOO)
    gateway.default("reassignment.cancel.mode", "stop")
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.poll()
    gateway.alter({"foo-0": None})
    gateway.poll()
    assert (gateway.phase("foo-0"), len(gateway.state.backlog.costs)) == (Phase.EXTERNAL, 1)
    gateway.settle()
    assert (gateway.phase("foo-0"), len(gateway.state.backlog.costs)) == (Phase.IDLE, 0)


def test_metadata_from_after_a_move_does_not_hide_the_original_of_the_listed_move() -> None:
    gateway = Gateway(FOO)
    gateway.kafka.alter(key("foo-0"), (5, 6))
    listed = gateway.kafka.poll()
    gateway.kafka.catch_up(key("foo-0"))
    gateway.do(replace(listed, topics=gateway.kafka.poll().topics))
    assert (gateway["foo-0"].current, gateway["foo-0"].next) == ((1, 4), (5, 6))
    gateway.alter({"foo-0": (2, 3)})
    wanted = gateway.reassignment_of("foo-0")
    assert wanted is not None
    assert wanted.original == (1, 4)
    assert gateway.settle().kafka.replicas[key("foo-0")] == (2, 3)


def test_the_first_failed_poll_of_an_outage_is_its_start() -> None:
    gateway = Gateway(FOO)
    began = gateway.do(Unreachable("connection refused")).now_ms
    gateway.do(Unreachable("no answer"))
    assert (gateway.state.gateway.unreachable, gateway.state.gateway.unreachable_since_ms) == (
        "no answer",
        began,
    )


def test_steps_in_flight_count_against_the_bytes_after_a_restart() -> None:
    gateway = Gateway(("foo-0", (1,)), ("foo-1", (2,)), ("foo-2", (2,)))
    sizes = Measured({key("foo-0"): 900, key("foo-1"): 900, key("foo-2"): 90}, {})
    gateway.default(BYTES, "1200")
    gateway.do(sizes)
    gateway.alter({"foo-0": (3,), "foo-1": (4,), "foo-2": (4,)})
    gateway.deliver()
    assert gateway.in_flight() == ["foo-0", "foo-2"]
    gateway = gateway.successor()
    gateway.poll()
    assert gateway.in_flight() == ["foo-0", "foo-2"]
    gateway.do(sizes)
    assert gateway.in_flight() == ["foo-0", "foo-2"]
    gateway.settle()
    assert gateway.kafka.replicas[key("foo-1")] == (4,)


def test_a_preview_counts_the_bytes_on_their_way() -> None:
    gateway = Gateway(("foo-0", (1,)), ("foo-1", (2,)))
    gateway.default(BYTES, "1024")
    gateway.do(Measured({key("foo-0"): 1024, key("foo-1"): 1024}, {}))
    gateway.alter({"foo-0": (3,), "foo-1": (4,)})
    starts = {most: preview_limits(gateway.state, {BYTES: str(most)}).starts for most in (1024, 2048)}
    assert starts == {1024: 0, 2048: 1}
    assert preview_limits(gateway.state, {BYTES: "1000"}).excess["bytes"] == 24


def test_what_waits_for_the_first_measurement_starts_after_it() -> None:
    gateway = Gateway(("foo-0", (1,)), ("foo-1", (2,)), ("foo-2", (2,)))
    gateway.default(BYTES, "1000")
    gateway.alter({"foo-0": (3,), "foo-1": (4,), "foo-2": (4,)})
    assert gateway.in_flight() == ["foo-0"]
    gateway.do(Measured({key(f"foo-{number}"): 10 for number in range(2)}, {}))
    assert gateway.in_flight() == ["foo-0", "foo-1", "foo-2"]
