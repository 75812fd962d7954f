import pytest

from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import (
    MOST_LOGGED,
    Rejections,
    ZnodeError,
    decode_object,
    encode,
    ids,
    integer,
    kind_of,
    named_partitions,
    numbered,
    string,
)


def test_json_is_compact_and_keeps_its_order() -> None:
    assert encode({"b": [1, 2], "a": "ü"}) == '{"b":[1,2],"a":"ü"}'.encode()


@pytest.mark.parametrize(
    "data", [None, b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"a":' + b"1" * 5_000 + b"}"]
)
def test_data_that_is_no_object_is_an_error(data: bytes | None) -> None:
    with pytest.raises(ZnodeError):
        decode_object(data)


@pytest.mark.parametrize("value", [None, "1,2", [1, "2"], [-1], [True], [2**31]])
def test_only_broker_ids_are_broker_ids(value: object) -> None:
    with pytest.raises(ZnodeError, match="isr is not a list of broker ids"):
        ids(value, "isr")


def test_missing_numbers_and_strings_are_an_error() -> None:
    for read in (integer, string):
        with pytest.raises(ZnodeError, match="leader is not a"):
            read({}, "leader")


@pytest.mark.parametrize("name", ["", "07", "-1", "+7", "7 ", "٧", "7000000000", "seven"])
def test_a_name_that_is_not_in_kafkas_form_is_no_number(name: str) -> None:
    assert numbered("7") == 7
    assert numbered(name) is None


def test_partitions_are_named_by_topic_and_number() -> None:
    assert named_partitions({"partitions": [{"topic": "foo", "partition": 3}]}) == [("foo", 3)]
    with pytest.raises(ZnodeError, match="partitions is not a list of objects"):
        named_partitions({"partitions": ["foo"]})


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
