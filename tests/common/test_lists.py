from common.lists import ELEMENTS_PER_SLICE, clear_lists, drained, grouped


def test_values_are_grouped_in_order_of_their_keys_first_occurrence() -> None:
    pairs = [("b", 1), ("a", 2), ("b", 3)]
    assert list(grouped(pairs).items()) == [("b", [1, 3]), ("a", [2])]


def test_no_pairs_have_no_groups() -> None:
    assert grouped([]) == {}


def test_elements_are_removed_in_order() -> None:
    elements = [1, 2, 3]
    left = [(element, list(elements)) for element in drained(elements)]
    assert left == [(1, [3, 2]), (2, [3]), (3, [])]


def test_a_long_list_and_the_lists_in_an_object_are_emptied() -> None:
    one, other = [0] * (2 * ELEMENTS_PER_SLICE + 1), ["a"]
    clear_lists(one)
    clear_lists({"version": 1, "partitions": other, "none": []})
    assert (one, other) == ([], [])


def test_values_that_are_no_lists_are_left_alone() -> None:
    for value in (None, "text", 1, {"a": "b"}):
        clear_lists(value)
