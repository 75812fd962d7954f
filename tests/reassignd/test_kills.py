"""Forty times kill -9 in the middle of everything; and the books that would notice if something were lost."""

import random
from pathlib import Path

import pytest

from bench.kills import Run
from bench.ledger import (
    Deed,
    LostError,
    Pending,
    Place,
    Register,
    Seen,
    World,
    cancel,
    order,
    queue,
    take_back,
)

KILLS = 40
A, B, C = (1, 2), (3, 4), (5, 6)


@pytest.mark.whole
@pytest.mark.timeout(300)
def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    run = Run(tmp_path / "data", seed)
    try:
        run.kills(KILLS)
    except LostError as error:
        pytest.fail(f"python -m bench.kills --kills {KILLS} --seed {seed}: {error}")
    assert run.counts["cut off"] == KILLS
    assert len(run.books.jobs) > KILLS


def place(*deeds: Deed) -> Place:
    made = Place(A)
    for deed in deeds:
        made.did(deed)
    return made


def test_an_order_may_be_under_way_or_done_but_not_gone() -> None:
    moved = place(order(B))
    moved.fits(Seen(B, (), None))
    moved.fits(Seen(None, B, None))
    with pytest.raises(LostError):
        moved.fits(Seen(None, A, None))


def test_what_has_arrived_must_be_in_the_order_that_was_asked_for() -> None:
    with pytest.raises(LostError):
        place(order(B)).fits(Seen(None, B[::-1], None))


def test_an_order_without_an_answer_may_have_been_taken_or_not() -> None:
    doubtful = place(order(B))
    doubtful.may_have_done(order(C))
    assert doubtful.ends_at() == {B, C}


def test_what_is_seen_of_a_doubtful_order_settles_it() -> None:
    doubtful = place(order(B))
    doubtful.may_have_done(order(C))
    doubtful.worlds = doubtful.fits(Seen(C, (), None))
    assert doubtful.ends_at() == {C}


def test_a_cancel_leads_to_where_the_last_order_found_it() -> None:
    assert place(order(B), cancel).ends_at() == {A}
    assert place(order(B), order(C), cancel).ends_at() == {A, B}


def test_a_cancel_of_nothing_is_not_accepted() -> None:
    with pytest.raises(LostError):
        place(cancel)


def test_a_queued_target_comes_after_the_way_back() -> None:
    queued = place(order(B), queue("q", C))
    queued.fits(Seen(A, (), C))
    queued.fits(Seen(C, (), None))
    assert queued.ends_at() == {C}


def test_an_order_takes_the_place_of_what_is_queued() -> None:
    assert list(order(B)(World(A, A, Pending("q", C)))) == [World(A, B)]


def test_a_job_that_goes_back_leaves_what_another_has_queued() -> None:
    assert list(take_back("other", A)(World(A, A, Pending("q", C)))) == []


def test_what_is_queued_and_taken_back_does_not_come() -> None:
    queued = Place(A)
    queued.worlds = {World(A, A, Pending("q", C))}
    queued.did(take_back("q", None))
    queued.fits(Seen(A, (), None))
    with pytest.raises(LostError):
        queued.fits(Seen(A, (), C))


def test_a_job_goes_back_to_what_it_found() -> None:
    assert place(order(B), take_back("other", A)).ends_at() == {A}


def test_an_order_must_have_found_a_partition_where_it_was() -> None:
    with pytest.raises(LostError):
        place(order(B)).found_at(C)


def test_a_value_is_the_last_one_acknowledged_or_one_in_doubt() -> None:
    limit = Register("limit P", None)
    limit.did(5)
    limit.may_have_done(7)
    limit.check(7)
    with pytest.raises(LostError, match=r"limit P is 5, expected one of \[7\]"):
        limit.check(5)
