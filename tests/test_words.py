"""One word for each mode: words that the glossary replaces appear neither in names nor in prose."""

import re
from collections.abc import Iterator
from pathlib import Path
from symtable import symtable

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"
PRODUCT = ("reassignd", "server", "backends", "planner", "controller", "common")

WITH_OTHER_MEANINGS = {"proxy", "nodes", "fake", "the other side"}
"""Replaced words that mean something else where they appear."""

FORMER_NAMES = {"adapter"}
"""Parts of names that the code had for modes, and that mean nothing else now."""


def replaced_words() -> set[str]:
    """The last column of the table of modes."""
    table = GLOSSARY.read_text("utf-8").partition("## Modes")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| **")]
    return {word.strip() for row in rows for word in row[2].split(",")} - WITH_OTHER_MEANINGS


SOURCES = [path for folder in PRODUCT for path in sorted((ROOT / folder).rglob("*.py"))]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def names_in(path: Path) -> Iterator[str]:
    """The names that the module defines."""
    scopes = [symtable(path.read_text("utf-8"), path.name, "exec")]
    for scope in scopes:
        names = scope.get_symbols()
        yield from (each.get_name() for each in names if each.is_local() and not each.is_imported())
        scopes += scope.get_children()


def parts_of(name: str) -> set[str]:
    """The words of a name in snake case or camel case."""
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def without_code(text: str) -> str:
    """The text without blocks and spans of code and without targets of links."""
    return re.sub(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", "", text, flags=re.DOTALL)


def test_the_glossary_names_the_words_that_it_replaces() -> None:
    assert {"delegated", "peers", "simulated cluster"} <= replaced_words()


def test_no_name_has_a_replaced_word() -> None:
    former = replaced_words() | FORMER_NAMES
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in SOURCES
        for name in [path.stem, *names_in(path)]
        if parts_of(name) & former
    }
    assert found == set()


def test_no_text_has_a_replaced_word() -> None:
    word = re.compile(r"\b(" + "|".join(map(re.escape, sorted(replaced_words()))) + r")\b", re.IGNORECASE)
    found = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in {*PAGES, *SOURCES} - {GLOSSARY}
        for match in word.finditer(without_code(path.read_text("utf-8")))
    }
    assert found == set()
