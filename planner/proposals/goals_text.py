"""Read goals from words, as the command line takes them: `drain 7,8 add 31`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from planner.proposals.problem.goal import Goal, ProposalError

DEFAULT_TOLERANCE = Fraction(1, 20)

WITH_VALUE = {"drain": "broker ids", "add": "broker ids", "rf": "a replication factor"}
WITHOUT_VALUE = ("balance", "racks", "leaders")


def read_goal(words: Sequence[str]) -> Goal:
    """Combine goals. `add` and `balance` even out counts, bytes and leaders within 5 %. Raises ProposalError."""
    given = _given(words)
    drain, added = (
        broker_ids(name, given[name]) if name in given else frozenset[int]() for name in ("drain", "add")
    )
    if both := drain & added:
        raise ProposalError([f"broker {min(both)} cannot be both drained and added"])
    even = bool(given.keys() & {"add", "balance"})
    return Goal(
        drain=drain,
        add=added,
        factor=_factor(given["rf"]) if "rf" in given else None,
        even_counts=even,
        tolerance=DEFAULT_TOLERANCE if even else Fraction(0),
        repair_racks="racks" in given,
        even_leaders=even or "leaders" in given,
        by="both" if even else "replicas",
    )


def broker_ids(name: str, text: str) -> frozenset[int]:
    """Read `7,8` as the value of the goal or option `name`. Raises ProposalError."""
    try:
        return frozenset(read_broker_ids(text))
    except ValueError as error:
        raise ProposalError([f"{name} '{text}': {error}"]) from error


def read_broker_ids(text: str) -> list[int]:
    """Read `7,8`. Raises ValueError, which says what was expected."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdecimal() for part in parts) or len(set(parts)) != len(parts):
        raise ValueError("expected different broker ids, separated by commas")
    return [int(part) for part in parts]


def read_tolerance(text: str) -> Fraction:
    """Read `5%` or `0.05`. Raises ProposalError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text)
    if match is None or (value := Fraction(match[1]) / (100 if match[2] else 1)) >= 1:
        raise ProposalError([f"tolerance '{text}': expected a percentage below 100%, such as 5%"])
    return value


def read_weights(texts: Iterable[str]) -> Mapping[int, Fraction]:
    """Read `7=0.5`, once for each broker. Raises ProposalError."""
    weights: dict[int, Fraction] = {}
    for text in texts:
        match = re.fullmatch(r"(\d+)=(\d+(?:\.\d+)?)", text)
        if match is None or int(match[1]) in weights or Fraction(match[2]) == 0:
            raise ProposalError(
                [f"weight '{text}': expected ID=FACTOR once for each broker, with a factor above 0"]
            )
        weights[int(match[1])] = Fraction(match[2])
    return weights


def _given(words: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    remaining: Iterator[str] = iter(words)
    for name in remaining:
        if name in given:
            raise ProposalError([f"{name} is given twice"])
        if name in WITHOUT_VALUE:
            given[name] = ""
        elif name in WITH_VALUE:
            value = next(remaining, None)
            if value is None:
                raise ProposalError([f"{name} needs {WITH_VALUE[name]}"])
            given[name] = value
        else:
            expected = ", ".join([*WITH_VALUE, *WITHOUT_VALUE])
            raise ProposalError([f"unknown goal '{name}'; expected {expected}"])
    return given


def _factor(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 0 < int(text) < 2**15:
        raise ProposalError([f"rf '{text}': expected a replication factor from 1"])
    return int(text)
