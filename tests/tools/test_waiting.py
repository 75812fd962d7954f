from collections.abc import Iterator

import pytest

from tools.waiting import wait_until


def test_it_returns_when_the_condition_holds() -> None:
    answers: Iterator[bool] = iter([False, False, True])
    wait_until(lambda: next(answers), lambda: "the third answer", every=0)
    assert next(answers, None) is None


def test_the_error_names_the_condition() -> None:
    with pytest.raises(RuntimeError, match="timed out after 0 s waiting for two brokers"):
        wait_until(lambda: False, lambda: "two brokers", every=0, patience=0)
