"""Rules of the source tree: the longest function, and no circles of imports between files or folders."""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGES = ("reassignd", "server", "backends", "planner", "controller", "protocol", "common", "tools")
GENERATED = ROOT / "protocol" / "messages"

LONGEST_FUNCTION = 40


def written(folder: Path) -> Iterator[Path]:
    """The modules in the folder that people wrote."""
    return (path for path in sorted(folder.rglob("*.py")) if GENERATED not in path.parents)


class Source(NamedTuple):
    """What the rules ask of a module. The trees of all modules together would take 250 MB."""

    functions: list[tuple[str, int]]
    """The names, and the lines after the first."""
    imports: list[tuple[str, list[str]]]
    """The modules, and the names that are imported from each."""
    docs: list[tuple[int, int, str]]
    """The first and the last line of each docstring, and its text."""


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements in the node. Expressions, of which there are ten times as many, are left out."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for each in getattr(node, field, ()):
            yield each
            yield from statements(each)


@cache
def parsed(path: Path) -> Source:
    nodes = list(statements(ast.parse(path.read_text("utf-8"))))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    constants = [
        (node, node.value.value)
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    return Source(
        [(node.name, (node.end_lineno or 0) - node.lineno) for node in functions],
        [(node.module, [each.name for each in node.names]) for node in imports if node.module],
        [(node.lineno, node.end_lineno or 0, text) for node, text in constants if isinstance(text, str)],
    )


def name_of(source: Path) -> str:
    return source.relative_to(ROOT).as_posix()


SOURCES = [path for package in PACKAGES for path in written(ROOT / package)]
FILES = [*SOURCES, *written(ROOT / "bench"), *written(ROOT / "campaigns"), *written(ROOT / "tests")]


def test_no_function_is_longer_than_a_page() -> None:
    long = {
        f"{name_of(path)}: {name}"
        for path in FILES
        for name, lines in parsed(path).functions
        if lines >= LONGEST_FUNCTION
    }
    assert long == set()


def imported_by(path: Path, known: Collection[Path]) -> Iterator[Path]:
    """The modules in `known` that the module imports, as files, at run time or for types alone."""
    for module, names in parsed(path).imports:
        folder = ROOT / module.replace(".", "/")
        for candidate in (folder.with_suffix(".py"), *(folder / f"{name}.py" for name in names)):
            if candidate in known:
                yield candidate


def test_no_folders_import_each_other_in_a_circle() -> None:
    """A folder is the modules that are directly in it."""
    known = frozenset(SOURCES)
    graph: dict[Path, set[Path]] = defaultdict(set)
    for path in SOURCES:
        graph[path.parent] |= {each.parent for each in imported_by(path, known)} - {path.parent}
    TopologicalSorter(graph).prepare()


def test_no_files_import_each_other_in_a_circle() -> None:
    known = frozenset(SOURCES)
    graph = {path: set(imported_by(path, known)) for path in SOURCES}
    assert len(list(TopologicalSorter(graph).static_order())) == len(SOURCES)
