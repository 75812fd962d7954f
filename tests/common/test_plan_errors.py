import pytest

from common.plan_errors import MOST_FAULTS, Faults, PlanError


def error(*faults: str) -> PlanError:
    found = Faults()
    for each in faults:
        found.add(str, each)
    with pytest.raises(PlanError) as caught:
        found.check()
    return caught.value


def test_without_a_fault_nothing_is_raised() -> None:
    Faults().check()


def test_a_single_fault_is_the_text() -> None:
    assert (str(error("x is wrong")), error("x is wrong").faults) == ("x is wrong", ())


def test_several_faults_are_counted_and_the_first_ones_named() -> None:
    found = error(*(f"{number} is wrong" for number in range(MOST_FAULTS + 5)))
    assert str(found) == "1,005 entries are wrong, the first: 0 is wrong"
    assert len(found.faults) == MOST_FAULTS
