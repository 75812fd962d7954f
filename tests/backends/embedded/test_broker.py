import pytest

from controller.model.cluster import NO_LEADER
from protocol.messages.update_metadata_request import UpdateMetadataBroker, UpdateMetadataRequest
from tests.backends.embedded.brokers import FAILED, FENCED, SIZE, STALE, UNKNOWN, One
from tests.builders import key, partition

FOLLOWED = partition("foo-0", [2, 1], isr=(2,), leader_epoch=3)
LED = partition("foo-0", [1, 2], isr=(1,), leader_epoch=3)
STALE_BROKER = 77


@pytest.fixture
def one() -> One:
    return One()


def test_an_older_controller_is_refused(one: One) -> None:
    one.tell()
    one.state.controller_epoch = 4
    assert (one.lead(LED).error_code, one.tell(), one.stop("foo-0", 3).error_code) == (STALE, STALE, STALE)


def test_a_request_for_an_earlier_session_is_refused(one: One) -> None:
    codes = (one.lead(LED, epoch=6).error_code, one.tell(epoch=6), one.stop("foo-0", 3, epoch=6).error_code)
    assert codes == (STALE_BROKER,) * 3


def test_what_comes_when_it_has_stopped_changes_nothing(one: One) -> None:
    one.broker.stop()
    assert (one.lead(LED).error_code, one.tell(), one.stop("foo-0", 3).error_code) == (8, 8, 8)
    one.broker.start(one.reporter)
    assert one.lead(LED).error_code == STALE_BROKER


@pytest.mark.parametrize("epoch", [-1, 7, 8])
def test_an_unknown_and_a_newer_broker_epoch_are_taken(one: One, epoch: int) -> None:
    assert one.lead(LED, epoch=epoch).error_code == 0


@pytest.mark.parametrize(("leader_epoch", "error"), [(2, STALE), (3, STALE), (4, 0)])
def test_only_a_newer_leader_epoch_is_acted_on(one: One, leader_epoch: int, error: int) -> None:
    one.lead(LED)
    assert one.errors(LED._replace(leader_epoch=leader_epoch, leader=2)) == [error]
    assert one.broker.replicas[key("foo-0")].leader == (1 if error else 2)


def test_a_broker_that_is_no_replica_says_so(one: One) -> None:
    assert one.errors(partition("foo-0", [2, 3]), LED) == [UNKNOWN, 0]
    assert one.hosts("foo-0")


def test_a_new_follower_begins_from_nothing_and_fetches(one: One) -> None:
    one.lead(FOLLOWED)
    assert one.replication.waiting(1) == 1
    assert one.broker.size(key("foo-0"), one.broker.replicas[key("foo-0")].log) == 0


def test_a_member_of_the_isr_has_all_data_and_fetches_nothing(one: One) -> None:
    one.lead(FOLLOWED)
    one.lead(FOLLOWED._replace(isr=(2, 1), leader_epoch=4))
    assert one.replication.waiting(1) == 0
    assert one.broker.size(key("foo-0"), one.broker.replicas[key("foo-0")].log) == SIZE


def test_without_a_leader_nothing_is_fetched(one: One) -> None:
    one.lead(FOLLOWED)
    one.lead(FOLLOWED._replace(leader=NO_LEADER, leader_epoch=4))
    assert one.replication.waiting(1) == 0


@pytest.mark.parametrize(("leader_epoch", "error"), [(2, FENCED), (3, 0), (4, 0), (-1, 0), (-2, 0)])
def test_a_replica_is_deleted_unless_it_is_fenced(one: One, leader_epoch: int, error: int) -> None:
    one.lead(LED)
    [row] = one.stop("foo-0", leader_epoch).partition_errors
    assert row.error_code == error
    assert one.hosts("foo-0") == (error != 0)


def test_a_replica_that_is_not_there_can_be_deleted(one: One) -> None:
    assert [row.error_code for row in one.stop("foo-0", 3).partition_errors] == [0]


def test_replicas_on_a_failed_disk_are_offline(one: One) -> None:
    one.lead(LED)
    path = one.broker.log_dirs.find(key("foo-0")) or ""
    assert one.broker.fail_log_dir(path) == [key("foo-0")]
    assert one.errors(LED._replace(leader_epoch=9)) == [FAILED]
    assert [row.error_code for row in one.stop("foo-0", 9).partition_errors] == [FAILED]


def test_beside_a_failed_disk_only_a_new_replica_is_taken(one: One) -> None:
    one.broker.fail_log_dir("a")
    assert one.errors(LED, new=False) == [FAILED]
    assert one.errors(LED, new=True) == [0]


def test_the_controllers_address_is_learnt(one: One) -> None:
    with pytest.raises(ConnectionError, match="not known"):
        _ = one.broker.controller
    one.tell()
    assert one.broker.controller == ("localhost", one.state.brokers[1].port)


def test_a_controller_without_an_address_is_not_learnt(one: One) -> None:
    one.broker.update_metadata(
        UpdateMetadataRequest(1, broker_epoch=-1, live_brokers=[UpdateMetadataBroker(1)])
    )
    with pytest.raises(ConnectionError, match="not known"):
        _ = one.broker.controller


def test_a_leader_learns_what_bumps_no_leader_epoch_from_metadata(one: One) -> None:
    one.lead(LED)
    one.tell(LED._replace(replicas=(2, 1), partition_epoch=4, isr=(1, 2)))
    replica = one.broker.replicas[key("foo-0")]
    assert (replica.replicas, replica.partition_epoch, replica.isr) == ((2, 1), 4, (1, 2))


@pytest.mark.parametrize(
    ("leader", "leader_epoch", "partition_epoch"), [(1, 4, 2), (2, 3, 2), (1, 3, 1), (1, 3, 0)]
)
def test_metadata_of_another_epoch_or_leader_changes_no_isr(
    one: One, leader: int, leader_epoch: int, partition_epoch: int
) -> None:
    one.lead(LED._replace(partition_epoch=1))
    told = LED._replace(leader=leader, leader_epoch=leader_epoch, partition_epoch=partition_epoch)
    one.tell(told._replace(isr=(1, 2)))
    assert one.broker.replicas[key("foo-0")].isr == (1,)


def test_after_a_start_replicas_that_the_controller_does_not_name_are_dropped(one: One) -> None:
    one.lead(LED, LED._replace(partition=1))
    one.broker.stop()
    one.begin(epoch=8)
    one.tell(LED, epoch=8)
    one.lead(LED, epoch=8)
    assert one.hosts("foo-1")
    one.tell(epoch=8)
    assert one.hosts("foo-0")
    assert not one.hosts("foo-1")


def test_a_list_of_brokers_without_a_series_before_it_drops_nothing(one: One) -> None:
    one.lead(LED)
    one.broker.stop()
    one.begin(epoch=8)
    one.tell(epoch=8)
    assert one.hosts("foo-0")


def test_a_stopped_broker_misses_what_is_produced_meanwhile(one: One) -> None:
    one.volume.rate = 100.0
    one.lead(FOLLOWED._replace(isr=(2, 1)))
    one.now = 10.0
    one.broker.stop()
    one.now = 50.0
    one.begin(epoch=8)
    one.lead(FOLLOWED._replace(leader_epoch=4), epoch=8)
    assert one.broker.size(key("foo-0"), one.broker.replicas[key("foo-0")].log) == SIZE + 10 * 100


def test_a_stuck_broker_that_stops_has_what_it_had_when_it_got_stuck(one: One) -> None:
    one.volume.rate = 100.0
    one.lead(FOLLOWED._replace(isr=(2, 1)))
    one.broker.behind_since = 5.0
    one.now = 10.0
    one.broker.stop()
    assert one.broker.behind_since == 5.0


def test_replicas_on_a_failed_disk_are_not_taken_for_strays(one: One) -> None:
    one.lead(LED)
    path = one.broker.log_dirs.find(key("foo-0")) or ""
    one.broker.fail_log_dir(path)
    one.lead()
    one.tell()
    assert one.broker.log_dirs.find(key("foo-0")) == path


def test_the_isr_of_a_replica_that_is_gone_is_of_no_interest(one: One) -> None:
    one.broker.accept(key("foo-0"), 3, 4, (1, 2))
    assert one.broker.replicas == {}


def test_a_follower_is_taken_note_of_by_its_leader_alone(one: One) -> None:
    assert not one.broker.follower_caught_up(key("foo-0"), 2)
    one.lead(FOLLOWED)
    assert not one.broker.follower_caught_up(key("foo-0"), 2)
    one.lead(LED._replace(leader_epoch=4))
    assert one.broker.follower_caught_up(key("foo-0"), 2)
    assert not one.reporter.idle
    assert not one.broker.follower_caught_up(key("foo-0"), 3)


def test_a_follower_in_the_isr_already_is_not_reported_again(one: One) -> None:
    one.lead(LED._replace(isr=(1, 2)))
    assert one.broker.follower_caught_up(key("foo-0"), 2)
    assert one.reporter.idle


def test_a_broker_that_is_stopped_takes_note_of_nothing(one: One) -> None:
    one.lead(LED)
    one.broker.stop()
    assert not one.broker.follower_caught_up(key("foo-0"), 2)
    one.broker.follower_fell_behind(2)


def test_what_it_leads_itself_or_does_not_host_is_not_fetched(one: One) -> None:
    one.lead(LED)
    one.broker.catch_up(key("foo-0"))
    one.broker.catch_up(key("bar-0"))
    assert one.replication.waiting(1) == 0
