"""Errors about the file of a plan."""

from pathlib import Path

import pytest

from common.plan_errors import PlanError
from reassignd.commands.plan_file import PlanFile
from reassignd.config.errors import CommandError, UnreachableError

PLAN = b"""{"version": 1, "partitions": [
  {"topic": "a", "partition": 0, "replicas": [1]},

  {"topic": "]\\n", "partition": 1,
   "replicas": [1]}, {"topic": "b", "partition": 0, "replicas": [1]}
]}"""


def named(content: bytes, error: Exception, path: str = "plan.json") -> CommandError:
    with pytest.raises(CommandError) as found, PlanFile(Path(path), content).errors():
        raise error
    return found.value


def test_the_file_and_the_lines_of_wrong_entries_are_named() -> None:
    faults = ["partitions[1] (b-0): wrong", "partitions[2] (c-0) is there twice, first in partitions[0]"]
    error = named(PLAN, PlanError(f"2 entries are wrong, the first: {faults[0]}", faults))
    assert str(error) == "plan.json: 2 entries are wrong, the first: line 4, partitions[1] (b-0): wrong"
    assert error.faults[1] == ("line 5, partitions[2] (c-0) is there twice, first in line 2, partitions[0]")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"no", 'stdin: not JSON; expected {"version":1,"partitions":[...]}'),
        (b'{"partitions": [\n{"a": 1}, {', "stdin: partitions[0]: wrong"),
        (b'{"partitions": [{"a": 1}]}', "stdin: partitions[0]: wrong"),
        (b'{"partitions":\n[]}', "stdin: partitions[0]: wrong"),
    ],
)
def test_a_plan_without_lines_of_entries_has_its_name_only(content: bytes, text: str) -> None:
    said = "not JSON" if "JSON" in text else "partitions[0]: wrong"
    assert str(named(content, CommandError(said), "-")) == text


def test_errors_that_are_not_about_the_plan_stay_as_they_are() -> None:
    for error in (UnreachableError("cannot reach it"), CommandError("the token is not known")):
        assert named(PLAN, error) is error


def test_a_plan_that_the_server_refuses_as_a_whole_is_named() -> None:
    assert str(named(b"[]", CommandError("not a plan"))) == "plan.json: not a plan"
