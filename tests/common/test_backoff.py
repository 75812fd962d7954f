from common.backoff import Backoff


def test_the_pause_doubles_up_to_a_minute_while_terms_fail() -> None:
    backoff = Backoff()
    assert [backoff.next_pause() for _ in range(9)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]


def test_the_pause_is_short_again_after_a_term_that_served() -> None:
    backoff = Backoff()
    pauses = [backoff.next_pause(), backoff.next_pause()]
    backoff.reset()
    assert pauses == [0.5, 1]
    assert backoff.next_pause() == 0.5
