"""Commands with bad input print one line that names it, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from reassignd import cli
from tests.reassignd.shell import ORIGINALS, Shell

pytestmark = pytest.mark.whole


def entry(**changed: Any) -> dict[str, Any]:
    return {"topic": "foo", "partition": 0, "replicas": [4, 5, 6], **changed}


def plan(*entries: dict[str, Any]) -> str:
    return json.dumps({"version": 1, "partitions": entries})


BAD_PLANS = [
    (
        "not json",
        'not JSON: Expecting value: line 1 column 1 (char 0); expected {"version":1,"partitions":[...]}',
    ),
    ('{"partitions": {}}', 'not a plan: expected {"version":1,"partitions":[...]}'),
    (
        plan(entry(partition="0")),
        "partitions[0] (foo): 'partition' is \"0\", expected a number from 0 to 2147483647",
    ),
    (
        plan(entry(), entry(topic="nope")),
        "partitions[1] (nope-0): Unable to find a topic named nope.",
    ),
    (
        plan(entry(partition=999)),
        "partitions[0] (foo-999): Unable to find partition foo:999.",
    ),
    (
        plan(entry(), entry()),
        "partitions[1] (foo-0) is there twice, first in partitions[0]",
    ),
    (
        plan(entry(replicas=[2**31])),
        "partitions[0] (foo-0): replicas[0] is 2147483648, expected a broker id from 0 to 2147483647",
    ),
    (
        plan(entry(replicas=[77])),
        (
            "partitions[0] (foo-0): The manual partition assignment includes broker 77, but no such broker"
            " is registered."
        ),
    ),
]


def test_invalid_input_is_reported_in_one_line_and_changes_nothing(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    for text, expected in BAD_PLANS:
        file.write_text(text)
        result = shell.run("execute", "--reassignment-json-file", str(file))
        assert result == (1, "", f"reassignd: {file}: {expected}\n")
    for arguments in (["job", "9"], ["rollback", "9"], ["pause", "9"], ["cancel", "--job", "9"]):
        assert shell.run(*arguments) == (
            1,
            "",
            "reassignd: There is no job 9; `reassignd jobs` lists them.\n",
        )
    assert shell.ok("jobs") == "No jobs yet.\n"
    assert shell.replicas() == ORIGINALS


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["cancel"], "give exactly one of --all, --topic, --job and --partition"),
        (
            ["cancel", "--all", "--job", "1"],
            "give exactly one of --all, --topic, --job and --partition",
        ),
        (
            ["cancel", "--partition", "foo"],
            "Invalid value for '--partition': 'foo', expected TOPIC-N",
        ),
        (["limits", "P"], "Invalid value for '[NAME=VALUE]...': 'P', expected NAME=NUMBER or NAME=none"),
        (["limits", "P=1", "P=2"], "Invalid value for '[NAME=VALUE]...': 'P' is given twice"),
        (["execute"], "give the plan: a file, or - for stdin"),
        (["job", "x"], "Invalid value for 'JOB': 'x' is not a valid integer."),
        (
            ["status", "--format", "xml"],
            "Invalid value for '-o' / '--format': 'xml' is not one of 'text', 'wide', 'json'.",
        ),
    ],
)
def test_invalid_arguments_exit_with_2(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    assert capsys.readouterr() == ("", f"reassignd: {line}\n")


def test_a_missing_file_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["execute", "--reassignment-json-file", "no.json"]) == 1
    assert capsys.readouterr().err == "reassignd: cannot read no.json: No such file or directory\n"


def test_the_url_can_be_set_in_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REASSIGND_URL", "unix:/no/such")
    assert cli.main(["status"]) == 1
    assert capsys.readouterr().err.startswith("reassignd: cannot reach unix:/no/such")
