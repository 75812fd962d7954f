"""The times that follow from a session."""

from backends.state_topic.ports import Timings


def test_the_lease_ends_before_a_standby_claims_and_several_beats_fit_into_it() -> None:
    timings = Timings(3.0)
    assert timings.beat * 4 < timings.lease < timings.session
    assert timings.jitter < timings.session
    assert timings.outage < timings.session
