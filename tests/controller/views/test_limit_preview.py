import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.messages.events import AlterConfigs, ResourceChanges
from controller.messages.job_events import Pause
from controller.model.cluster import ResourceType
from controller.model.configs import SCHEDULE, THROTTLE, ConfigChange, ConfigOp
from controller.scheduling.limits import LIMITS
from controller.state.settings import CLUSTER_DEFAULT
from controller.views import limit_preview
from controller.views.limit_preview import BrokerEffect, LimitPreview, preview_limits
from tests.builders import InMemoryController, partition, records
from tests.examples import examples

NAMES = {limit.field: limit.config for limit in LIMITS}


def controller(count: int = 8, /, **limits: int) -> InMemoryController:
    """Return a controller whose partitions move from brokers 1 and 2 to 3 to 6, within the limits."""
    subject = InMemoryController().with_limits(**limits)
    subject.with_partitions(*(partition(f"foo-{n}", (1 + n % 2, 2 - n % 2)) for n in range(count)))
    subject.alter({f"foo-{n}": (3 + n % 4, 3 + (n + 1) % 4) for n in range(count)})
    return subject


def preview(subject: InMemoryController, **limits: int) -> LimitPreview:
    configs = dict(subject.state.settings.configs.get((ResourceType.BROKER, CLUSTER_DEFAULT), {}))
    return preview_limits(
        subject.state, configs | {NAMES[field]: str(value) for field, value in limits.items()}
    )


def test_a_greater_limit_starts_steps() -> None:
    assert preview(controller(partitions=2), partitions=5).starts == 3


def test_the_state_does_not_change() -> None:
    subject = controller(partitions=2)
    before = records(subject.state), subject.in_flight(), subject.state.backlog.size
    preview(subject, partitions=5)
    assert (records(subject.state), subject.in_flight(), subject.state.backlog.size) == before
    subject.with_limits(partitions=5)
    assert len(subject.in_flight()) == 5


def test_steps_in_flight_above_the_new_limit_are_counted() -> None:
    found = preview(controller(partitions=4), partitions=3, per_broker=2, per_partition=1, leaders=9)
    assert (found.starts, found.excess) == (0, {"R": 4, "P": 1, "L": 0, "C": 0, "B": 2, "bytes": 0})


def test_brokers_show_what_is_in_flight_what_would_start_and_what_exceeds() -> None:
    found = preview(controller(partitions=1), partitions=2)
    assert found.brokers == [
        BrokerEffect(1, 0, 2, 0, 0, 0, 0),
        BrokerEffect(2, 0, 0, 0, 2, 0, 0),
        BrokerEffect(3, 1, 0, 0, 0, 0, 0),
        BrokerEffect(4, 1, 0, 1, 0, 0, 0),
        BrokerEffect(5, 0, 0, 1, 0, 0, 0),
    ]


def test_during_a_pause_nothing_starts_and_the_reason_is_given() -> None:
    subject = controller(partitions=1)
    subject.do(Pause(None, True))
    found = preview(subject, partitions=5)
    assert (found.starts, found.stopped) == (0, "all reassignments are paused")


def test_outside_of_the_schedule_nothing_starts_and_the_reason_is_given() -> None:
    subject = controller(partitions=1)
    subject.default(SCHEDULE, "22:00-23:00")
    assert preview(subject, partitions=5).stopped == "outside of the schedule until 22:00 (UTC)"


def test_steps_of_a_paused_job_do_not_count() -> None:
    subject = controller(partitions=1)
    subject.do(Pause(1, True))
    assert preview(subject, partitions=5).starts == 0


def test_the_throttle_is_the_lowest_one_after_the_change() -> None:
    subject = controller(partitions=1)
    subject.default(SCHEDULE, "00:00-24:00 throttle=5MB")
    for rate, throttle in (("9000000", 5_000_000), ("1000000", 1_000_000)):
        assert preview_limits(subject.state, {THROTTLE: rate}).throttle == throttle


def test_only_so_many_steps_are_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit_preview, "MOST_STEPS", 3)
    found = preview(controller(partitions=1), partitions=100)
    assert (found.starts, found.more) == (3, True)


@settings(max_examples=examples(50), deadline=None)
@given(
    st.integers(1, 30),
    st.fixed_dictionaries({"partitions": st.integers(1, 5)}, optional={"per_broker": st.integers(1, 4)}),
    st.fixed_dictionaries(
        {},
        optional={
            field: st.integers(1, 12) for field in ("per_partition", "partitions", "per_broker", "replicas")
        },
    ),
)
def test_the_preview_has_the_number_of_steps_that_start(
    count: int, before: dict[str, int], after: dict[str, int]
) -> None:
    subject = controller(count, **before)
    expected = preview(subject, **after)
    in_flight = len(subject.in_flight())
    changes = [ConfigChange(NAMES[field], ConfigOp.SET, str(value)) for field, value in after.items()]
    subject.do(AlterConfigs([ResourceChanges(ResourceType.BROKER, CLUSTER_DEFAULT, changes)]))
    assert len(subject.in_flight()) - in_flight == expected.starts
