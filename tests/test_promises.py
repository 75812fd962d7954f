"""docs/tests.md says what proves the promises of the README.

Each named test exists, no promise is left out, and each has a unit test.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "tests.md").read_text("utf-8").partition("## What proves what")[2]
PROMISES = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
PROOFS = re.findall(r"^\* `([\w/]+\.py)`(?:: `(\w+)`)?$", PAGE, re.MULTILINE)


def plain(text: str) -> str:
    """The text on one line, without links."""
    return " ".join(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).split())


README = (ROOT / "README.md").read_text("utf-8")
PROMISED, _, _ = README.partition("## Documentation")


UNIT = re.compile(r"tests/(backends/\w+|controller|documents|planner|protocol|server)/")
"""Folders of unit tests. Those beside them start whole programs, or put the parts together."""


@cache
def functions_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize(("path", "name"), PROOFS)
def test_a_named_test_exists(path: str, name: str) -> None:
    assert not name or name in functions_in(path)


def test_each_line_of_the_page_names_a_proof_that_is_read_here() -> None:
    assert len(PROOFS) == PAGE.count("\n* ")


@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_stands_in_the_readme(promise: str) -> None:
    assert promise in plain(PROMISED)


@pytest.mark.parametrize("section", PAGE.split("\n### ")[1:], ids=lambda section: section[:40])
def test_a_promise_has_a_unit_test(section: str) -> None:
    assert any(UNIT.match(path) for path, _ in PROOFS if path in section)


def promised() -> list[str]:
    """The list and the modes at the head of the README, and its sections."""
    head, *sections = PROMISED.split("\n## ")
    items = re.findall(r"^- ((?:.|\n  )+)", head, re.MULTILINE)
    modes = re.findall(r"^\| (\[.*) \|$", head, re.MULTILINE)
    return [*map(plain, [*items, *modes, *sections])]


@pytest.mark.parametrize("text", promised(), ids=lambda text: text[:40])
def test_each_item_and_section_of_the_readme_has_a_proof(text: str) -> None:
    assert any(promise in text for promise in PROMISES)
