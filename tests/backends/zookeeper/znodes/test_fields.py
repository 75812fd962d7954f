import pytest

from backends.zookeeper.znodes.fields import (
    ZnodeError,
    decode_object,
    encode,
    ids,
    integer,
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
