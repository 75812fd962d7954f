from pathlib import Path

import pytest

from controller.gateway.table import TABLE
from controller.reassignment import phases
from tools.draw_states import DIAGRAMS, PAGE, PROGRAM, main
from tools.written_parts import begin, end, rewritten


def test_the_diagrams_in_the_documentation_are_up_to_date() -> None:
    assert main(["--check"]) == 0
    assert rewritten(PAGE.read_text("utf-8"), PROGRAM, DIAGRAMS) == PAGE.read_text("utf-8")


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
    blocks = (f"{begin(name, PROGRAM)}{text}{end(name)}\nbelow\n" for name, text in diagrams.items())
    return "above\n" + "".join(blocks)


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="the page must have the lines"):
        rewritten("no markers", PROGRAM, DIAGRAMS)


def test_every_transition_of_the_phases_is_drawn_once() -> None:
    drawn = "".join(DIAGRAMS[name]() for name in ("orders", "cancels", "steps"))
    assert all(transition.name in drawn for transition in phases.TABLE.values())
    assert "    queued --> moving: plan, start\n" in DIAGRAMS["steps"]()
    assert "    external --> external: undo\n" in DIAGRAMS["cancels"]()
    assert max(DIAGRAMS[name]().count("-->") for name in DIAGRAMS) <= 16


def test_every_rule_of_the_stages_is_listed() -> None:
    rows = DIAGRAMS["rules"]().splitlines()[2:]
    assert len(rows) == len(TABLE)
    assert "| active | moves elsewhere | 10 polls and 2 s | give up | settled |" in rows
    assert "| undoing | moves to the next list | growing pauses | resend | undoing |" in rows
    assert "    settled --> submitting: request\n" in DIAGRAMS["stages"]()
    assert "    ended --> settled: take over, advance, give up\n" in DIAGRAMS["stages"]()
