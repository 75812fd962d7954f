"""Whether the output of a command has the form of the output that a document shows."""

import re
from collections.abc import Sequence

from tests.documents.blocks import Command

NUMBER = re.compile(r"\d[\d,.:]*(?: ?(?:B|[kKMG]i?B|s|ms|min|h)(?:/s)?\b)?")
BAR = re.compile(r"(?:[#.]{20}|[━─]{20} )")
USER = re.compile(r"\bLocal:\w+")
SPARK = re.compile(r"^Spark .*")
HEADING = re.compile(r"^ *[A-Z]+(?: [A-Z]+)*(?:  +[A-Z]+(?: [A-Z]+)*)+$")
PROGRESS = re.compile(r"^job \d+: ")
ANY_LINES = "..."
ANY_TEXT = "…"


def differences(command: Command, printed: str) -> list[str]:
    """Return the documented lines that the printed text has no line for, in their order.

    Numbers, bytes, times, bars and users may differ, and Spark may be installed. `...` stands for any lines,
    `…` for any text in a line. The rows of a table and the lines of `--wait` depend on the moment: there must
    be some.
    """
    rest = printed.splitlines()
    missing = []
    for line in _compared(command.output):
        pattern = re.compile(_pattern(line))
        place = next((at for at, each in enumerate(rest) if pattern.fullmatch(_form(each))), None)
        if place is None:
            missing.append(line)
        else:
            rest = rest[place + 1 :]
            if HEADING.match(line) and not (rest and rest[0].strip()):
                missing.append(f"{line}: rows")
    return missing


def _compared(lines: Sequence[str]) -> list[str]:
    compared = []
    in_table = False
    for line in lines:
        in_table = in_table and bool(line.strip()) and line != ANY_LINES
        if not in_table and line.strip() and line != ANY_LINES and not PROGRESS.match(line):
            compared.append(line)
        in_table = in_table or bool(HEADING.match(line))
    return compared


def _form(line: str) -> str:
    line = SPARK.sub("Spark", USER.sub("USER", BAR.sub("BAR", line)))
    return " ".join(NUMBER.sub("N", line).split())


def _pattern(line: str) -> str:
    parts = re.split(rf" ?{re.escape(ANY_LINES)}|{ANY_TEXT}", _form(line))
    return ".*".join(map(re.escape, parts))
