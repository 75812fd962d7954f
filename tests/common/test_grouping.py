from common.grouping import grouped


def test_values_are_grouped_in_order_of_their_keys_first_occurrence() -> None:
    pairs = [("b", 1), ("a", 2), ("b", 3)]
    assert list(grouped(pairs).items()) == [("b", [1, 3]), ("a", [2])]


def test_no_pairs_have_no_groups() -> None:
    assert grouped([]) == {}
