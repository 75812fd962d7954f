from pathlib import Path

import pytest

from controller.reassignment.phases import TABLE
from tools.draw_states import BEGIN, END, PAGE, draw, main, redrawn


def test_the_picture_in_the_documentation_is_up_to_date() -> None:
    assert main(["--check"]) == 0
    assert redrawn(PAGE.read_text("utf-8")) == PAGE.read_text("utf-8")


def test_an_old_picture_is_told_and_then_redrawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"above\n{BEGIN}old\n{END}\nbelow\n", "utf-8")
    assert main(["--check"], page) == 1
    assert "page.md is out of date" in capsys.readouterr().out
    assert main([], page) == 0
    assert main(["--check"], page) == 0
    assert page.read_text("utf-8") == f"above\n{BEGIN}{draw()}{END}\nbelow\n"


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="the page must have the lines"):
        redrawn("no markers")


def test_every_arrow_of_the_table_is_drawn() -> None:
    arrows = [line for line in draw().splitlines() if "-->" in line]
    assert len(arrows) == 1 + sum(len(transition.to) for transition in TABLE.values())
    assert "    queued --> moving: start (its turn comes)" in arrows
