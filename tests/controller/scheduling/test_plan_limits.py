import pytest

from common.plan_errors import PlanError
from controller.scheduling.plan_limits import PlanLimits, parse_limits
from controller.scheduling.steps import UNLIMITED


def test_limits_are_parsed_by_letter() -> None:
    assert parse_limits("r=1, p=20,b=5") == PlanLimits(per_partition=1, partitions=20, per_broker=5)
    assert parse_limits("") == PlanLimits()
    assert parse_limits("r=4,c=2").step == 2


@pytest.mark.parametrize("text", ["x=1", "r", "r=0", "r=-1", "r=many", f"r={UNLIMITED + 1}", "r=²"])
def test_an_invalid_limit_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match=r"^'"):
        parse_limits(text)


def test_by_letter_is_the_reverse_of_parsing() -> None:
    assert parse_limits("l=3").by_letter()["l"] == 3
