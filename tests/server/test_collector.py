"""The garbage collector, kept off."""

import gc

import pytest

from server.collector import NEVER, kept_off, spare_the_old


def test_nothing_is_collected_while_something_large_is_built() -> None:
    with kept_off():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_was_built_is_never_looked_at_again() -> None:
    gc.unfreeze()
    with kept_off():
        built: list[list[int]] = [[] for _ in range(1000)]
    assert gc.get_freeze_count() >= len(built)
    gc.unfreeze()


def test_a_failure_turns_it_on_again() -> None:
    with pytest.raises(KeyError), kept_off():
        raise KeyError
    assert gc.isenabled()
    gc.unfreeze()


def test_what_is_old_is_not_scanned_any_more() -> None:
    before = gc.get_threshold()
    try:
        spare_the_old()
        assert gc.get_threshold() == (before[0], before[1], NEVER)
    finally:
        gc.set_threshold(*before)
