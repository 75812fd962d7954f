from controller.model import Deleted, Submission
from controller.state import State
from controller.upstream_state import Doubt
from tests.builders import key


def test_a_submission_goes_with_what_was_counted_of_it() -> None:
    state = State()
    state.put(Submission("foo", 0, (1,), (2,)))
    state.doubt(key("foo-0"), Doubt.BOTH)
    state.delete(Deleted(Submission, key("foo-0")))
    assert (state.submissions, state.doubts) == ({}, {})


def test_looks_in_a_row_count_as_long_as_they_show_the_same() -> None:
    state = State()
    counts = [state.doubt(key("foo-0"), each) for each in (Doubt.BOTH, Doubt.BOTH, Doubt.TURNED, Doubt.BOTH)]
    assert counts == [1, 2, 1, 1]
