"""Kafka's behaviours as cases (cases.jsonl), and the function that runs one.

A case has `given`, `do` and `expect` in a small language, which `case_actions` and `case_expectations`
interpret. A case that needs a component outside of the controller (a znode, a replica's state machine) also
counts as a difference.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.controller.case_actions import Json, NotInControllerError, Played
from tests.controller.case_expectations import Difference, differences

AREAS = {"alter-validate", "alter-run", "cancel", "override", "list", "failover", "metrics", "auth"}
"""The areas that concern the controller or the protocol."""


class Case(NamedTuple):
    """One line of cases.jsonl."""

    id: str
    area: str
    mode: str
    given: Mapping[str, Json]
    do: Json
    expect: Mapping[str, Json]

    @property
    def concerns_the_controller(self) -> bool:
        """Whether the case concerns the controller.

        Cases of Kafka's tools are tested with the tools, in tests/clients.
        """
        return self.area in AREAS and not self.mode.startswith("tool")


def load() -> list[Case]:
    """Return all cases, in file order."""
    lines = Path(__file__).with_name("cases.jsonl").read_text("utf-8").splitlines()
    return [Case(*(line[name] for name in Case._fields)) for line in map(json.loads, lines)]


def run(case: Case) -> list[Difference]:
    """Run the case; return its differences without repetitions."""
    try:
        played = Played(case.given, case.do if isinstance(case.do, list) else [case.do])
        return list(dict.fromkeys(differences(played, case.expect)))
    except NotInControllerError as part:
        return [Difference("has", str(part), "none in the controller")]


def behaviours(found: Sequence[Difference]) -> tuple[str, str]:
    """Return Kafka's behaviour and reassignd's, as two cells of a table."""
    kafka = "; ".join(f"{each.what} {each.kafka}" for each in found)
    return kafka, "; ".join(f"{each.what} {each.ours}" for each in found)
