from controller.counting import count_down, count_up, toggle


def test_a_count_of_nothing_is_absent() -> None:
    counts: dict[str, int] = {}
    count_up(counts, "foo")
    count_up(counts, "foo", 2)
    assert counts == {"foo": 3}
    for _ in range(3):
        count_down(counts, "foo")
    assert counts == {}


def test_a_key_belongs_or_does_not() -> None:
    members = {"foo"}
    toggle(members, "bar", True)
    toggle(members, "foo", False)
    toggle(members, "foo", False)
    assert members == {"bar"}
