"""Log lines on stderr: in the format of Kafka's log4j, or one JSON object per line.

A record is always one line, whatever text of a client it has. In the plain format a traceback adds lines.
"""

import json
import logging
from datetime import UTC, datetime

from common.wording import escaped, printable

LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}
"""Levels with another name in log4j."""


class PlainFormatter(logging.Formatter):
    """`[2026-11-21 04:00:00,123] INFO text (logger)`, in local time."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, followed by the traceback if there is one."""
        text = printable(record.getMessage())
        line = f"[{self.formatTime(record)}] {_level(record)} {text} ({record.name})"
        if not record.exc_info:
            return line
        return "\n".join([line, *map(printable, self.formatException(record.exc_info).splitlines())])


class JsonFormatter(logging.Formatter):
    """A JSON object with `time` (ISO 8601, UTC), `level`, `logger`, `message`, and `exception` if there is one.

    Lines about what has happened also have the name of the `event` and its numbers (`fields`), which do not change with
    the text.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the object on one line."""
        fields: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": _level(record),
            "logger": record.name,
            "message": record.getMessage(),
        }
        event = getattr(record, "event", None)
        if event is not None:
            fields["event"] = event
            fields |= getattr(record, "fields", {})
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return escaped(json.dumps(fields, ensure_ascii=False))


FORMATTERS: dict[str, type[logging.Formatter]] = {"plain": PlainFormatter, "json": JsonFormatter}


def configure(style: str, level: str) -> None:
    """Log to stderr from `level` on. Libraries log from WARN on."""
    handler = logging.StreamHandler()
    handler.setFormatter(FORMATTERS[style]())
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for library in ("uvicorn", "asyncio", "httpx"):
        logging.getLogger(library).setLevel(logging.WARNING)


def _level(record: logging.LogRecord) -> str:
    return LEVELS.get(record.levelname, record.levelname)
