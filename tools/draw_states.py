"""Draw the controller's two state tables in docs/how-it-works.md.

`python -m tools.draw_states` writes between markers: the phases of a reassignment as one diagram for orders,
one for cancels and one for steps; and the stages of a step that an upstream carries out, as a diagram and a
table. `--check` writes nothing; its exit status is 1 when a part is out of date.
"""

import sys
from collections.abc import Iterable, Sequence, Set
from pathlib import Path

from controller.gateway.table import COMMANDS, TABLE
from controller.model.thresholds import CONFIRMED_AFTER, Discrepancy
from controller.model.upstream_step import Stage
from controller.reassignment import phases
from controller.reassignment.phases import Phase, Trigger
from tools.written_parts import Parts, rewritten, table

PROGRAM = "tools.draw_states"
PAGE = Path(__file__).parents[1] / "docs/how-it-works.md"


def draw_phases(*triggers: Trigger) -> str:
    """Return what these triggers do, as a Mermaid diagram."""
    rows = ((before, row) for (before, trigger), row in phases.TABLE.items() if trigger in triggers)
    return _diagram(
        (before.value, after.value, row.name)
        for before, row in rows
        for after in Phase
        if after in _drawn(before, row.to)
    )


def draw_stages() -> str:
    """Return the stages of upstream steps and the actions between them, as a Mermaid diagram."""
    commands = ((_name(before), _name(after), each.value) for (before, each), after in COMMANDS.items())
    rules = (
        (_name(before), _name(after), rule.action.value)
        for (before, _), rule in TABLE.items()
        for after in Stage
        if after in rule.to and after is not before
    )
    return _diagram(arrow for arrow in [*commands, *rules] if arrow[0] != arrow[1])


def list_rules() -> str:
    """Return what each observation of an upstream step leads to, as a table in Markdown."""
    rows = (
        (_name(before), seen.value, _delay(rule.discrepancy), rule.action.value, _names(rule.to))
        for before in Stage
        for (at, seen), rule in TABLE.items()
        if at is before
    )
    return table(("stage", "observation", "after", "action", "next stage"), rows)


DIAGRAMS: Parts = {
    "orders": lambda: draw_phases(Trigger.ORDER),
    "cancels": lambda: draw_phases(Trigger.CANCEL),
    "steps": lambda: draw_phases(Trigger.PLAN, Trigger.START, Trigger.PROGRESS, Trigger.STALL),
    "stages": draw_stages,
    "rules": list_rules,
}


def main(arguments: Sequence[str], page: Path = PAGE) -> int:
    """Write the diagrams, or check them; return the exit status."""
    now = page.read_text("utf-8")
    wanted = rewritten(now, PROGRAM, DIAGRAMS)
    if "--check" in arguments:
        if now != wanted:
            print(f"{page.name} is out of date: run python -m {PROGRAM}")
        return int(now != wanted)
    page.write_text(wanted, "utf-8")
    return 0


def _drawn(before: Phase, after: Set[Phase]) -> Set[Phase]:
    """Return the phases to draw an arrow to. Most transitions may also change nothing; that is not drawn."""
    return after - {before} or after


def _diagram(arrows: Iterable[tuple[str, str, str]]) -> str:
    """Return a diagram with one arrow for each pair of states, named by all that lead there."""
    labels: dict[tuple[str, str], list[str]] = {}
    for before, after, name in arrows:
        known = labels.setdefault((before, after), [])
        if name not in known:
            known.append(name)
    lines = [f"    {before} --> {after}: {', '.join(names)}" for (before, after), names in labels.items()]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```", ""])


def _name(stage: Stage) -> str:
    return stage.name.lower()


def _names(stages: Set[Stage]) -> str:
    return " or ".join(_name(stage) for stage in Stage if stage in stages)


def _delay(discrepancy: Discrepancy | None) -> str:
    if discrepancy is None:
        return "at once"
    if discrepancy not in CONFIRMED_AFTER:
        return "growing pauses"
    needed = CONFIRMED_AFTER[discrepancy]
    return f"{needed.polls} polls and {needed.ms // 1_000} s"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
