import json
import logging
import re
import sys
from collections.abc import Iterator

import pytest

from reassignd import logs
from reassignd.logs import JsonFormatter, PlainFormatter


def record(text: str = "hello", level: int = logging.INFO, *, failed: bool = False) -> logging.LogRecord:
    result = logging.LogRecord("server.connections.session", level, __file__, 1, text, (), None)
    if failed:
        try:
            raise RuntimeError("broken")
        except RuntimeError:
            result.exc_info = sys.exc_info()
    return result


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_plain_line_has_log4js_format() -> None:
    line = PlainFormatter().format(record())
    assert re.fullmatch(
        r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] INFO hello \(server\.connections\.session\)", line
    )


@pytest.mark.parametrize(("level", "name"), [(logging.WARNING, "WARN"), (logging.CRITICAL, "FATAL")])
def test_levels_have_log4js_names(level: int, name: str) -> None:
    assert f"] {name} hello" in PlainFormatter().format(record(level=level))
    assert json.loads(JsonFormatter().format(record(level=level)))["level"] == name


def test_text_of_a_client_cannot_start_a_new_line() -> None:
    line = PlainFormatter().format(record("client a\n[2026-01-01 00:00:00,000] INFO forged"))
    assert "\n" not in line
    assert r"client a\n[2026" in line


def test_a_plain_line_is_followed_by_its_traceback() -> None:
    assert PlainFormatter().format(record(failed=True)).endswith("RuntimeError: broken")


def test_a_json_line_is_one_object() -> None:
    line = JsonFormatter().format(record("two\nlines é"))
    fields = json.loads(line)
    assert "\n" not in line
    assert fields.pop("time").endswith("+00:00")
    assert fields == {"level": "INFO", "logger": "server.connections.session", "message": "two\nlines é"}


def test_a_json_line_carries_the_traceback() -> None:
    assert "RuntimeError: broken" in json.loads(JsonFormatter().format(record(failed=True)))["exception"]


def test_the_configured_format_and_level_are_used(
    capfd: pytest.CaptureFixture[str], root_logger: logging.Logger
) -> None:
    logs.configure("json", "WARN")
    root_logger.info("quiet")
    root_logger.warning("loud")
    out, err = capfd.readouterr()
    assert (out, json.loads(err)["message"]) == ("", "loud")


def test_an_event_has_its_name_and_numbers_in_json_only() -> None:
    line = record("job 3 ended")
    line.__dict__.update({"event": "job_ended", "fields": {"job": 3}})
    fields = json.loads(JsonFormatter().format(line))
    assert (fields["event"], fields["job"], fields["message"]) == ("job_ended", 3, "job 3 ended")
    assert "job_ended" not in PlainFormatter().format(line)
