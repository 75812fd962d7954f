"""The file of a plan, and errors about the plan that name the file and the lines of its entries."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import NamedTuple

from common.json.text import parse
from common.plan_errors import PlanError
from controller.model.plan import PLAN_SHAPE, read_plan
from reassignd.config.errors import CommandError, UnreachableError

STDIN = Path("-")

_ENTRY = re.compile(r"partitions\[(\d+)\]")
_ENTRIES = re.compile(r'"partitions"\s*:\s*\[')


def content_of(path: Path) -> bytes:
    """Return the content of the file, or of stdin for `-`. Raises CommandError."""
    try:
        return sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from error


class PlanFile(NamedTuple):
    """A plan as it is in the file, which the server validates."""

    path: Path
    content: bytes

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Name the file and the lines of entries in errors about the plan. PlanError becomes CommandError."""
        try:
            yield
        except PlanError as error:
            raise self._named(str(error), error.faults) from error
        except UnreachableError:
            raise
        except CommandError as error:
            if not self._is_subject_of(error):
                raise
            raise self._named(str(error), error.faults) from error

    def _is_subject_of(self, error: CommandError) -> bool:
        """Whether the server refuses the plan, and not the client or the moment."""
        if _ENTRY.search(str(error)):
            return True
        try:
            read_plan(parse(self.content))
        except PlanError:
            return True
        return False

    def _named(self, text: str, faults: Sequence[str]) -> CommandError:
        lines = _lines_of_entries(self.content)

        def with_line(found: re.Match[str]) -> str:
            number = int(found[1])
            return f"line {lines[number]}, {found[0]}" if number < len(lines) else found[0]

        name = "stdin" if self.path == STDIN else str(self.path)
        expected = f"; expected {PLAN_SHAPE}" if text.startswith("not JSON") else ""
        named = [_ENTRY.sub(with_line, fault) for fault in faults]
        return CommandError(f"{name}: {_ENTRY.sub(with_line, text)}{expected}", named)


def _lines_of_entries(content: bytes) -> list[int]:
    """Return the line of each entry; none of a plan that is on one line, or that is not JSON."""
    text = content.decode(errors="replace")
    begin = _ENTRIES.search(text)
    if begin is None or "\n" not in text.strip():
        return []
    lines, line, counted, decoder = [], 1, 0, JSONDecoder()
    at = _after_blanks(text, begin.end())
    while at < len(text) and text[at] != "]":
        line, counted = line + text.count("\n", counted, at), at
        lines.append(line)
        try:
            _, end = decoder.raw_decode(text, at)
        except JSONDecodeError:
            return []
        at = _after_blanks(text, end)
    return lines


def _after_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at
