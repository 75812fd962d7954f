"""Texts of others on a terminal and in a log."""

import json
import logging

import pytest

from reassignd.cli import main
from reassignd.commands.text import columns, echo, left_out_lines, reason_lines
from reassignd.logs import JsonFormatter, PlainFormatter
from reassignd.printable import as_json, printable

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
