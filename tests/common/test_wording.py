"""Texts of others on a terminal and in a log."""

import json
import logging

import pytest

from common.wording import as_json, counted, missing, printable, some
from reassignd.cli import main
from reassignd.commands.output import echo, left_out_lines, reason_lines
from reassignd.commands.table import columns
from reassignd.runtime.process import JsonFormatter, PlainFormatter


def test_a_noun_has_a_plural_unless_there_is_one() -> None:
    assert [counted(number, "partition") for number in (0, 1, 2_000)] == [
        "0 partitions",
        "1 partition",
        "2,000 partitions",
    ]


def test_one_is_singular_and_thousands_have_commas() -> None:
    assert counted(1, "step") == "1 step"
    assert counted(12000, "step") == "12,000 steps"


def test_a_list_is_cut_and_says_how_many_are_left_out() -> None:
    assert some([], 2) == ""
    assert some(["a", "b"], 2) == "a, b"
    assert some(["a", "b", "c", "d"], 2) == "a, b and 2 more"


def test_the_message_names_the_installer_of_the_service_and_pip() -> None:
    assert missing("propose", "OR-tools", "propose") == (
        "propose needs OR-tools: `install.sh --extras propose WHEEL`, or `pip install 'WHEEL[propose]'`"
    )


EVIL = "a\x1b[2Jb\x07\x9b31m\r\n\u202ec\u200b\ud800\U000e0001"
SHOWN = "a\\x1b[2Jb\\x07\\x9b31m\\r\\n\\u202ec\\u200b\\ud800\\U000e0001"


def test_invisible_characters_are_escaped() -> None:
    assert printable(EVIL) == SHOWN
    assert printable("Grüße, 東京 😀") == "Grüße, 東京 😀"


def test_json_is_valid_without_invisible_characters() -> None:
    text = as_json({"id": EVIL})
    assert text.isprintable()
    assert json.loads(text) == {"id": EVIL}
    assert as_json({"a": "ä"}) == '{"a":"ä"}'


def test_table_cells_stay_aligned() -> None:
    assert list(columns(("who", "n"), [(EVIL, 1), ("b", 22)])) == [
        f"{'WHO':<{len(SHOWN)}}   N",
        f"{SHOWN}   1",
        f"{'b':<{len(SHOWN)}}  22",
    ]


def test_a_reason_or_an_error_is_one_line() -> None:
    [reason] = reason_lines([{"partitions": 1, "reason": EVIL}])
    [refused] = left_out_lines(
        "refused", [{"topic": "t", "partition": 0, "message": EVIL}], "message", verbose=False
    )
    assert (reason.endswith(SHOWN), refused.endswith(SHOWN)) == (True, True)


def test_echo_keeps_line_breaks_and_escapes_other_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    echo("one\x1b[1m\ntwo")
    echo("three\x07", err=True)
    assert capsys.readouterr() == ("one\\x1b[1m\ntwo\n", "three\\x07\n")


def test_an_error_message_is_printable(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no\x1b]0;title\x07"]) == 2
    assert "\\x1b]0;title\\x07" in capsys.readouterr().err


def test_log_lines_are_printable_with_their_tracebacks() -> None:
    try:
        raise ValueError(EVIL)
    except ValueError as error:
        info = (ValueError, error, error.__traceback__)
    record = logging.LogRecord("test", logging.INFO, "", 0, "from %s", (EVIL,), info)
    plain, line = PlainFormatter().format(record), JsonFormatter().format(record)
    assert (plain.replace("\n", "").isprintable(), line.isprintable()) == (True, True)
    assert json.loads(line)["message"] == f"from {EVIL}"
