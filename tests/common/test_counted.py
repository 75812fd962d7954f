from common.counted import counted


def test_a_noun_has_a_plural_unless_there_is_one() -> None:
    assert [counted(number, "partition") for number in (0, 1, 2_000)] == [
        "0 partitions",
        "1 partition",
        "2,000 partitions",
    ]
