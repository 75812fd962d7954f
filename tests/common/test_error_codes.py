"""The error codes have the numbers of Kafka's error table."""

from kafka.errors import kafka_errors

from common.error_codes import ErrorCode, error_name

RENAMED = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "UNKNOWN",
    ErrorCode.NONE: "NO_ERROR",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "NOT_LEADER_FOR_PARTITION",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "INVALID_TOPIC",
    ErrorCode.MESSAGE_TOO_LARGE: "MESSAGE_SIZE_TOO_LARGE",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: "INVALID_REPLICATION_ASSIGNMENT",
}
"""Names of kafka-python that differ from Kafka's."""


def test_numbers_match_the_table_of_kafka_python() -> None:
    names = {code: kafka_errors[code.value].message for code in ErrorCode}
    assert names == {code: RENAMED.get(code, code.name) for code in ErrorCode}


def test_an_unknown_code_is_shown_as_a_number() -> None:
    assert (error_name(3), error_name(999)) == ("UNKNOWN_TOPIC_OR_PARTITION", "error 999")
