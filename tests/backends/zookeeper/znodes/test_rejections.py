import pytest

from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import decode_object
from backends.zookeeper.znodes.rejections import MOST_LOGGED, Rejections, kind_of


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (paths.REASSIGN, "reassign_partitions"),
        (paths.QUEUE, "reassign_partitions_queue"),
        (f"{paths.REASSIGNMENTS}/foo/0", "reassignments"),
        (paths.topic("foo"), "topic"),
        (paths.state("foo", 0), "partition_state"),
        (paths.config("topics/foo"), "config"),
        (f"{paths.CONFIG_CHANGES}/config_change_1", "config_change"),
        ("/somewhere", "other"),
    ],
)
def test_a_znode_has_a_kind(path: str, kind: str) -> None:
    assert kind_of(path) == kind


def test_an_invalid_znode_is_logged_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rejections = Rejections()
    with rejections.skip_invalid(paths.broker(7)):
        decode_object(b"{garbage")
    assert caplog.messages == ["/brokers/ids/7 is ignored: it is not JSON"]
    assert rejections.documents == {"broker": 1}


def test_the_same_data_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    rejections = Rejections()
    for mzxid in (5, 5, 6):
        rejections.reject(paths.broker(7), "is ignored", mzxid=mzxid)
    assert (len(caplog.messages), rejections.documents["broker"]) == (2, 2)


def test_rows_are_counted_separately_and_the_first_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    rejections = Rejections()
    rejections.reject_rows(paths.REASSIGN, (f"foo-{n} is not reassigned: why" for n in range(25)))
    assert caplog.messages[0] == "/admin/reassign_partitions: foo-0 is not reassigned: why"
    assert caplog.messages[20:] == ["/admin/reassign_partitions: rejected 5 more rows"]
    assert (rejections.entries, rejections.documents) == ({"reassign_partitions": 25}, {})


def test_only_the_last_paths_are_remembered(caplog: pytest.LogCaptureFixture) -> None:
    rejections = Rejections()
    for number in [*range(MOST_LOGGED + 1), 0, 1, MOST_LOGGED]:
        rejections.reject(paths.broker(number), "is ignored", mzxid=5)
    assert len(caplog.messages) == MOST_LOGGED + 3
