"""Log lines on stderr: as log4j writes them for Kafka, or one JSON object a line.

A record stays one line whatever a client put into it; only a traceback, which is ours, takes more in plain form.
"""

import json
import logging
from datetime import UTC, datetime

from reassignd.printable import escaped, printable

LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}
"""Names that log4j has otherwise."""


class PlainFormatter(logging.Formatter):
    """`[2026-11-21 04:00:00,123] INFO text (logger)`, in local time."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and below it the traceback where there is one."""
        text = printable(record.getMessage())
        line = f"[{self.formatTime(record)}] {_level(record)} {text} ({record.name})"
        if not record.exc_info:
            return line
        return "\n".join([line, *map(printable, self.formatException(record.exc_info).splitlines())])


class JsonFormatter(logging.Formatter):
    """Keys `time` (ISO 8601, UTC), `level`, `logger`, `message`, and `exception` where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """The object on one line."""
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": _level(record),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return escaped(json.dumps(fields, ensure_ascii=False))


FORMATTERS: dict[str, type[logging.Formatter]] = {"plain": PlainFormatter, "json": JsonFormatter}


def configure(style: str, level: str) -> None:
    """Send everything at `level` or above to stderr; libraries below WARN are not heard."""
    handler = logging.StreamHandler()
    handler.setFormatter(FORMATTERS[style]())
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for library in ("uvicorn", "asyncio"):
        logging.getLogger(library).setLevel(logging.WARNING)


def _level(record: logging.LogRecord) -> str:
    return LEVELS.get(record.levelname, record.levelname)
