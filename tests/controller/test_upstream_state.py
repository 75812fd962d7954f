from controller.model import Deleted, Submission
from controller.state import State
from tests.builders import key


def test_a_submission_goes_with_what_was_counted_of_it() -> None:
    state = State()
    state.put(Submission("foo", 0, (1,), (2,)))
    state.tries[key("foo-0")] = 3
    state.delete(Deleted(Submission, key("foo-0")))
    assert (state.submissions, state.tries) == ({}, {})
