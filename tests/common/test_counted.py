from common.counted import counted, some


def test_a_noun_has_a_plural_unless_there_is_one() -> None:
    assert [counted(number, "partition") for number in (0, 1, 2_000)] == [
        "0 partitions",
        "1 partition",
        "2,000 partitions",
    ]


def test_one_is_singular_and_thousands_have_commas() -> None:
    assert counted(1, "step") == "1 step"
    assert counted(12000, "step") == "12,000 steps"


def test_a_list_is_cut_and_says_how_many_are_left_out() -> None:
    assert some([], 2) == ""
    assert some(["a", "b"], 2) == "a, b"
    assert some(["a", "b", "c", "d"], 2) == "a, b and 2 more"
