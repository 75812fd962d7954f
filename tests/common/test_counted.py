from common.counted import counted


def test_a_noun_has_a_plural_unless_there_is_one() -> None:
    assert [counted(number, "partition") for number in (0, 1, 2_000)] == [
        "0 partitions",
        "1 partition",
        "2,000 partitions",
    ]


def test_one_is_singular_and_thousands_have_commas() -> None:
    assert counted(1, "step") == "1 step"
    assert counted(12000, "step") == "12,000 steps"
