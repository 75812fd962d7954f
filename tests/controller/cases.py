"""Kafka's behaviours as cases (cases.jsonl), and how a case is run.

A case says `given`, `do` and `expect` in a small language, which `case_actions` and `case_expectations` interpret.
What the language asks of a part that is not the core's (a znode, a replica's own state machine) is a difference too.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.controller.case_actions import Json, NotOursError, Played
from tests.controller.case_expectations import Difference, differences

AREAS = {"alter-validate", "alter-run", "cancel", "override", "list", "failover", "metrics", "auth"}
"""What concerns the core or the wire."""


class Case(NamedTuple):
    """One line of cases.jsonl."""

    id: str
    area: str
    mode: str
    given: Mapping[str, Json]
    do: Json
    expect: Mapping[str, Json]

    @property
    def concerns_the_core(self) -> bool:
        """The stock tools' own behaviour is tested with the tools themselves, in tests/clients."""
        return self.area in AREAS and not self.mode.startswith("tool")


def load() -> list[Case]:
    """All cases, in order."""
    lines = Path(__file__).with_name("cases.jsonl").read_text("utf-8").splitlines()
    return [Case(*(line[name] for name in Case._fields)) for line in map(json.loads, lines)]


def run(case: Case) -> list[Difference]:
    """Do what the case says; whatever comes out otherwise, once."""
    try:
        played = Played(case.given, case.do if isinstance(case.do, list) else [case.do])
        return list(dict.fromkeys(differences(played, case.expect)))
    except NotOursError as part:
        return [Difference("has", str(part), "none in the core")]


def in_words(found: Sequence[Difference]) -> tuple[str, str]:
    """What Kafka does and what we do, as two cells of a table."""
    kafka = "; ".join(f"{each.what} {each.kafka}" for each in found)
    return kafka, "; ".join(f"{each.what} {each.ours}" for each in found)
