from pathlib import Path

import pytest

from controller.model.upstream_table import COMMANDS, TABLE
from controller.reassignment import phases
from tools.draw_states import DIAGRAMS, PAGE, begin, draw_phases, draw_stages, end, main, redrawn


def test_the_diagrams_in_the_documentation_are_up_to_date() -> None:
    assert main(["--check"]) == 0
    assert redrawn(PAGE.read_text("utf-8")) == PAGE.read_text("utf-8")


@pytest.mark.parametrize("outdated", DIAGRAMS)
def test_an_outdated_diagram_is_reported_and_then_redrawn(
    outdated: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    texts = {name: draw() for name, draw in DIAGRAMS.items()}
    page.write_text(page_with({**texts, outdated: "old\n"}), "utf-8")
    assert main(["--check"], page) == 1
    assert "page.md is out of date" in capsys.readouterr().out
    assert main([], page) == 0
    assert main(["--check"], page) == 0
    assert page.read_text("utf-8") == page_with(texts)


def page_with(diagrams: dict[str, str]) -> str:
    blocks = (f"{begin(name)}{text}{end(name)}\nbelow\n" for name, text in diagrams.items())
    return "above\n" + "".join(blocks)


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="the page must have the lines"):
        redrawn("no markers")


def test_every_arrow_of_the_phases_is_drawn() -> None:
    arrows = [line for line in draw_phases().splitlines() if "-->" in line]
    assert len(arrows) == 1 + sum(len(transition.to) for transition in phases.TABLE.values())
    assert "    queued --> moving: start (the limits allow it)" in arrows


def test_every_arrow_of_the_stages_is_drawn() -> None:
    arrows = [line for line in draw_stages().splitlines() if "-->" in line]
    assert len(arrows) == 1 + len(COMMANDS) + sum(len(rule.to) for rule in TABLE.values())
    assert "    settled --> submitting: request" in arrows
    assert "    active --> ended: end (at the next list)" in arrows
    assert "    active --> settled: give up (moves elsewhere, for 10 polls and 2 s)" in arrows
    assert "    undoing --> undoing: resend (moves to the next list, with growing pauses)" in arrows
