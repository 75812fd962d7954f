"""The fenced blocks of shell commands in the documents."""

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^(?P<indent> *)```(?P<kind>sh|console)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
PROMPT = "$ "


class Command(NamedTuple):
    """A command of one or more lines, and the lines that the document shows as its output.

    None in a block of `sh`.
    """

    text: str
    output: Sequence[str]


class Block(NamedTuple):
    """A fenced block: its page without `.md`, the number of its first line, and its commands."""

    page: str
    line: int
    commands: Sequence[Command]

    @property
    def begin(self) -> str:
        """The first line of the first command."""
        return self.commands[0].text.partition("\n")[0]


def blocks() -> Iterator[Block]:
    """The blocks of all documents."""
    for path in PAGES:
        yield from blocks_of(path.stem, path.read_text("utf-8"))


def blocks_of(page: str, text: str) -> Iterator[Block]:
    """The blocks in the text of a page."""
    for found in BLOCK.finditer(text):
        lines = [line.removeprefix(found["indent"]) for line in found["text"].splitlines()]
        parse = session if found["kind"] == "console" else script
        yield Block(page, text[: found.start()].count("\n") + 1, list(parse(lines)))


def script(lines: Sequence[str]) -> Iterator[Command]:
    """The commands of a block of `sh`."""
    rest = list(lines)
    while rest:
        text, rest = first_command(rest)
        if text.strip():
            yield Command(text, [])


def session(lines: Sequence[str]) -> Iterator[Command]:
    """The commands of a block of `console`, each after a prompt and followed by its output."""
    rest = list(lines)
    while rest:
        assert rest[0].startswith(PROMPT), rest[0]
        text, rest = first_command([rest[0].removeprefix(PROMPT), *rest[1:]])
        end = next((number for number, line in enumerate(rest) if line.startswith(PROMPT)), len(rest))
        yield Command(text, rest[:end])
        rest = rest[end:]


def first_command(lines: Sequence[str]) -> tuple[str, list[str]]:
    """Return the shortest complete command at the beginning of the lines, and the lines after it."""
    for end in range(1, len(lines) + 1):
        text = "\n".join(lines[:end])
        # A here-document without its end is only a warning, and a last line that continues is accepted.
        checked = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
        if not checked.stderr and not text.endswith("\\"):
            return text, list(lines[end:])
    raise AssertionError(f"not a command: {lines[0]}")
