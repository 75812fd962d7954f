import pytest

from backends.broker_commands.requests import LeaderAndIsrRow, leader_and_isr
from controller.model.cluster import NO_LEADER
from protocol.codec.wire import codec
from protocol.messages.update_metadata_request import UpdateMetadataBroker, UpdateMetadataRequest
from tests.backends.embedded.brokers import FAILED, FENCED, SIZE, STALE, UNKNOWN, BrokerRig
from tests.builders import key, partition

FOLLOWED = partition("foo-0", [2, 1], isr=(2,), leader_epoch=3)
LED = partition("foo-0", [1, 2], isr=(1,), leader_epoch=3)
STALE_BROKER = 77


@pytest.fixture
def rig() -> BrokerRig:
    return BrokerRig()


def test_requests_of_an_older_controller_are_rejected(rig: BrokerRig) -> None:
    rig.update_metadata()
    rig.state.cluster.controller_epoch = 4
    assert (
        rig.leader_and_isr(LED).error_code,
        rig.update_metadata(),
        rig.stop_replica("foo-0", 3).error_code,
    ) == (STALE, STALE, STALE)


def test_requests_with_an_older_broker_epoch_are_rejected(rig: BrokerRig) -> None:
    codes = (
        rig.leader_and_isr(LED, epoch=6).error_code,
        rig.update_metadata(epoch=6),
        rig.stop_replica("foo-0", 3, epoch=6).error_code,
    )
    assert codes == (STALE_BROKER,) * 3


def test_requests_to_a_stopped_broker_are_rejected(rig: BrokerRig) -> None:
    rig.broker.stop()
    assert (
        rig.leader_and_isr(LED).error_code,
        rig.update_metadata(),
        rig.stop_replica("foo-0", 3).error_code,
    ) == (8, 8, 8)
    rig.broker.start(rig.reporter)
    assert rig.leader_and_isr(LED).error_code == STALE_BROKER


@pytest.mark.parametrize("epoch", [-1, 7, 8])
def test_an_unknown_and_a_newer_broker_epoch_are_accepted(rig: BrokerRig, epoch: int) -> None:
    assert rig.leader_and_isr(LED, epoch=epoch).error_code == 0


@pytest.mark.parametrize(("leader_epoch", "error"), [(2, STALE), (3, STALE), (4, 0)])
def test_only_a_newer_leader_epoch_is_accepted(rig: BrokerRig, leader_epoch: int, error: int) -> None:
    rig.leader_and_isr(LED)
    assert rig.errors(LED._replace(leader_epoch=leader_epoch, leader=2)) == [error]
    assert rig.broker.replicas[key("foo-0")].leader == (1 if error else 2)


def test_null_adding_and_removing_replicas_are_none(rig: BrokerRig) -> None:
    """KIP-455's draft sends null where released Kafka sends an empty list."""
    rig.add_topics(FOLLOWED)
    request = leader_and_isr(rig.header(7), rig.state, [LeaderAndIsrRow(FOLLOWED, True)])
    (topic,) = request.topic_states
    rows = [row._replace(adding_replicas=None, removing_replicas=None) for row in topic.partition_states]
    wire = codec(type(request), 3)
    received = wire.decode(
        wire.encode(request._replace(topic_states=[topic._replace(partition_states=rows)]))
    )
    assert [row.error_code for row in rig.broker.leader_and_isr(received).partition_errors] == [0]
    assert rig.broker.replicas[FOLLOWED.key].adding == ()


def test_a_row_without_the_broker_as_replica_has_an_error(rig: BrokerRig) -> None:
    assert rig.errors(partition("foo-0", [2, 3]), LED) == [UNKNOWN, 0]
    assert rig.hosts("foo-0")


def test_a_new_follower_fetches_from_the_start(rig: BrokerRig) -> None:
    rig.leader_and_isr(FOLLOWED)
    assert rig.replication.waiting(1) == 1
    assert rig.broker.size(key("foo-0"), rig.broker.replicas[key("foo-0")].log) == 0


def test_a_member_of_the_isr_has_all_data_and_fetches_nothing(rig: BrokerRig) -> None:
    rig.leader_and_isr(FOLLOWED)
    rig.leader_and_isr(FOLLOWED._replace(isr=(2, 1), leader_epoch=4))
    assert rig.replication.waiting(1) == 0
    assert rig.broker.size(key("foo-0"), rig.broker.replicas[key("foo-0")].log) == SIZE


def test_a_partition_without_a_leader_is_not_fetched(rig: BrokerRig) -> None:
    rig.leader_and_isr(FOLLOWED)
    rig.leader_and_isr(FOLLOWED._replace(leader=NO_LEADER, leader_epoch=4))
    assert rig.replication.waiting(1) == 0


@pytest.mark.parametrize(("leader_epoch", "error"), [(2, FENCED), (3, 0), (4, 0), (-1, 0), (-2, 0)])
def test_a_replica_is_deleted_unless_it_is_fenced(rig: BrokerRig, leader_epoch: int, error: int) -> None:
    rig.leader_and_isr(LED)
    [row] = rig.stop_replica("foo-0", leader_epoch).partition_errors
    assert row.error_code == error
    assert rig.hosts("foo-0") == (error != 0)


def test_deleting_a_missing_replica_succeeds(rig: BrokerRig) -> None:
    assert [row.error_code for row in rig.stop_replica("foo-0", 3).partition_errors] == [0]


def test_replicas_on_a_failed_disk_are_offline(rig: BrokerRig) -> None:
    rig.leader_and_isr(LED)
    path = rig.broker.log_dirs.find(key("foo-0")) or ""
    assert rig.broker.fail_log_dir(path) == [key("foo-0")]
    assert rig.errors(LED._replace(leader_epoch=9)) == [FAILED]
    assert [row.error_code for row in rig.stop_replica("foo-0", 9).partition_errors] == [FAILED]


def test_with_a_failed_disk_only_new_replicas_are_created(rig: BrokerRig) -> None:
    rig.broker.fail_log_dir("a")
    assert rig.errors(LED, new=False) == [FAILED]
    assert rig.errors(LED, new=True) == [0]


def test_update_metadata_contains_the_controllers_address(rig: BrokerRig) -> None:
    with pytest.raises(ConnectionError, match="not known"):
        _ = rig.broker.controller
    rig.update_metadata()
    assert rig.broker.controller == ("localhost", rig.state.cluster.brokers[1].port)


def test_a_controller_without_an_address_is_ignored(rig: BrokerRig) -> None:
    rig.broker.update_metadata(
        UpdateMetadataRequest(1, broker_epoch=-1, live_brokers=[UpdateMetadataBroker(1)])
    )
    with pytest.raises(ConnectionError, match="not known"):
        _ = rig.broker.controller


def test_a_leader_stores_changes_without_a_new_leader_epoch_from_metadata(rig: BrokerRig) -> None:
    rig.leader_and_isr(LED)
    rig.update_metadata(LED._replace(replicas=(2, 1), partition_epoch=4, isr=(1, 2)))
    replica = rig.broker.replicas[key("foo-0")]
    assert (replica.replicas, replica.partition_epoch, replica.isr) == ((2, 1), 4, (1, 2))


@pytest.mark.parametrize(
    ("leader", "leader_epoch", "partition_epoch"), [(1, 4, 2), (2, 3, 2), (1, 3, 1), (1, 3, 0)]
)
def test_metadata_of_another_epoch_or_leader_changes_no_isr(
    rig: BrokerRig, leader: int, leader_epoch: int, partition_epoch: int
) -> None:
    rig.leader_and_isr(LED._replace(partition_epoch=1))
    told = LED._replace(leader=leader, leader_epoch=leader_epoch, partition_epoch=partition_epoch)
    rig.update_metadata(told._replace(isr=(1, 2)))
    assert rig.broker.replicas[key("foo-0")].isr == (1,)


def test_replicas_that_are_not_in_the_snapshot_are_deleted(rig: BrokerRig) -> None:
    rig.leader_and_isr(LED, LED._replace(partition=1))
    rig.broker.stop()
    rig.start_session(epoch=8)
    rig.update_metadata(LED, epoch=8)
    rig.leader_and_isr(LED, epoch=8)
    assert rig.hosts("foo-1")
    rig.update_metadata(epoch=8)
    assert rig.hosts("foo-0")
    assert not rig.hosts("foo-1")


def test_update_metadata_without_a_snapshot_deletes_nothing(rig: BrokerRig) -> None:
    rig.leader_and_isr(LED)
    rig.broker.stop()
    rig.start_session(epoch=8)
    rig.update_metadata(epoch=8)
    assert rig.hosts("foo-0")


def test_a_stopped_broker_has_no_data_that_is_produced_meanwhile(rig: BrokerRig) -> None:
    rig.volume.rate = 100.0
    rig.leader_and_isr(FOLLOWED._replace(isr=(2, 1)))
    rig.now = 10.0
    rig.broker.stop()
    rig.now = 50.0
    rig.start_session(epoch=8)
    rig.leader_and_isr(FOLLOWED._replace(leader_epoch=4), epoch=8)
    assert rig.broker.size(key("foo-0"), rig.broker.replicas[key("foo-0")].log) == SIZE + 10 * 100


def test_a_stuck_broker_that_stops_has_the_data_from_when_it_got_stuck(rig: BrokerRig) -> None:
    rig.volume.rate = 100.0
    rig.leader_and_isr(FOLLOWED._replace(isr=(2, 1)))
    rig.broker.behind_since = 5.0
    rig.now = 10.0
    rig.broker.stop()
    assert rig.broker.behind_since == 5.0


def test_replicas_on_a_failed_disk_are_no_strays(rig: BrokerRig) -> None:
    rig.leader_and_isr(LED)
    path = rig.broker.log_dirs.find(key("foo-0")) or ""
    rig.broker.fail_log_dir(path)
    rig.leader_and_isr()
    rig.update_metadata()
    assert rig.broker.log_dirs.find(key("foo-0")) == path


def test_the_isr_of_a_deleted_replica_is_ignored(rig: BrokerRig) -> None:
    rig.broker.accept(key("foo-0"), 3, 4, (1, 2))
    assert rig.broker.replicas == {}


def test_only_the_leader_adds_a_follower_to_the_isr(rig: BrokerRig) -> None:
    assert not rig.broker.follower_caught_up(key("foo-0"), 2)
    rig.leader_and_isr(FOLLOWED)
    assert not rig.broker.follower_caught_up(key("foo-0"), 2)
    rig.leader_and_isr(LED._replace(leader_epoch=4))
    assert rig.broker.follower_caught_up(key("foo-0"), 2)
    assert not rig.reporter.idle
    assert not rig.broker.follower_caught_up(key("foo-0"), 3)


def test_a_follower_in_the_isr_is_not_reported(rig: BrokerRig) -> None:
    rig.leader_and_isr(LED._replace(isr=(1, 2)))
    assert rig.broker.follower_caught_up(key("foo-0"), 2)
    assert rig.reporter.idle


def test_a_stopped_broker_changes_no_isr(rig: BrokerRig) -> None:
    rig.leader_and_isr(LED)
    rig.broker.stop()
    assert not rig.broker.follower_caught_up(key("foo-0"), 2)
    rig.broker.follower_fell_behind(2)


def test_led_and_missing_replicas_are_not_fetched(rig: BrokerRig) -> None:
    rig.leader_and_isr(LED)
    rig.broker.catch_up(key("foo-0"))
    rig.broker.catch_up(key("bar-0"))
    assert rig.replication.waiting(1) == 0
