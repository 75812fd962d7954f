from reassignd.errors import CommandError, UnreachableError


def test_an_error_may_name_the_wrong_entries_of_a_plan() -> None:
    assert list(CommandError("2 entries are wrong", ["a", "b"]).faults) == ["a", "b"]
    assert not UnreachableError("nobody answers").faults
