"""Print figures of the source tree: `python -m tools.house [PACKAGE ...]`.

A module is a file that people wrote, other than an `__init__`. A room is a module or a folder directly in a
folder. A circle is a set of rooms of one folder that import each other, at run time or for types alone: what
a contract of layers forbids. With the names of packages, what makes up their figures is printed: the imports
in circles, the classes that are defined twice, the small modules, and the lines that are too wide.
"""

import argparse
import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("common", "protocol", "controller", "planner", "backends", "server", "reassignd")
BESIDE = ("tools", "bench", "campaigns", "tests")
GENERATED = ROOT / "protocol" / "messages"
SMALLEST, SMALL, WIDEST, TINY_TEST = 25, 50, 110, 30
FEW = 2
"""A way between rooms with so few imports is easily cut."""

COLUMNS = ("modules", f"<={SMALLEST}", f"<={SMALL}", "lines", f">{WIDEST} col", "same name")


class Module:
    """A Python file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.relative_to(ROOT).as_posix()
        lines = path.read_text("utf-8").splitlines()
        self.lines = len(lines)
        self.wide = [number for number, line in enumerate(lines, 1) if len(line) > WIDEST]
        """The numbers of the lines that are too wide."""

    @cached_property
    def _tree(self) -> ast.Module:
        return ast.parse(self.path.read_bytes())

    @property
    def is_init(self) -> bool:
        return self.path.name == "__init__.py"

    def classes(self) -> set[str]:
        """The names of the public classes."""
        names = {node.name for node in self._tree.body if isinstance(node, ast.ClassDef)}
        return {name for name in names if not name.startswith("_")}

    def imports(self) -> Iterator[str]:
        """The paths that are imported, each of a module or of something in one."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                folder = node.module.replace(".", "/")
                yield from (f"{folder}/{each.name}" for each in node.names)


class Import(NamedTuple):
    """A room imports another one: the folder of both, the rooms, and the modules."""

    folder: str
    user: str
    used: str
    by: Module
    of: Module


def modules_of(package: str) -> list[Module]:
    """The modules of a package, each `__init__` with them."""
    return [Module(path) for path in sorted((ROOT / package).rglob("*.py")) if GENERATED not in path.parents]


def imports_in(modules: Iterable[Module]) -> Iterator[Import]:
    """The imports between the rooms of these modules."""
    known = {module.name.removesuffix(".py").removesuffix("/__init__"): module for module in modules}
    for user, by in known.items():
        for path in by.imports():
            used = path if path in known else path.rpartition("/")[0]
            if used in known:
                yield from _between(user.split("/"), used.split("/"), by, known[used])


def _between(user: list[str], used: list[str], by: Module, of: Module) -> Iterator[Import]:
    for depth, (one, other) in enumerate(zip(user, used, strict=False)):
        if one != other:
            yield Import("/".join(user[:depth]), one, other, by, of)
            return


def circles(imports: Iterable[Import]) -> list[tuple[str, list[str]]]:
    """The folders with a circle, and the rooms in it; the largest circle first."""
    graphs: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for each in imports:
        graphs[each.folder][each.user].add(each.used)
    found = {(folder, circle) for folder, graph in graphs.items() for circle in _tied(graph)}
    return sorted(
        ((folder, sorted(circle)) for folder, circle in found), key=lambda each: (-len(each[1]), each)
    )


def _tied(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    leads = {room: _reached(graph, room) for room in graph}
    back = {
        room: frozenset(other for other in reached if room in leads.get(other, ()))
        for room, reached in leads.items()
    }
    return {circle for circle in back.values() if circle}


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        new = graph.get(ahead.pop(), set()) - reached
        reached |= new
        ahead.extend(new)
    return reached


def same_names(modules: Iterable[Module]) -> dict[str, list[str]]:
    """The public classes of one name in several modules, with these modules."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        for name in module.classes():
            places[name].append(module.name)
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def row(name: str, modules: list[Module]) -> str:
    """One line of the table: the figures of COLUMNS, and the sizes of the circles."""
    lines = [module.lines for module in modules if not module.is_init]
    figures = [
        len(lines),
        sum(each <= SMALLEST for each in lines),
        sum(each <= SMALL for each in lines),
        sum(module.lines for module in modules),
        sum(len(module.wide) for module in modules),
        len(same_names(modules)),
    ]
    cells = "".join(f"{figure:>{len(column) + 3},}" for figure, column in zip(figures, COLUMNS, strict=True))
    return f"{name:<10}{cells}   {_sizes_of_circles(name, modules)}"


def _sizes_of_circles(name: str, modules: list[Module]) -> str:
    """The sizes of the circles of a package, such as `12+2`."""
    if name in BESIDE:
        return "not counted"
    return "+".join(str(len(rooms)) for _, rooms in circles(imports_in(modules))) or "0"


def table(names: Iterable[str]) -> None:
    """Print a line for each package, and one for the whole product where all are wanted."""
    found = {name: modules_of(name) for name in names}
    if found.keys() >= set(PRODUCT):
        found["product"] = [module for name in PRODUCT for module in found[name]]
    print(" " * 10 + "".join(f"{column:>{len(column) + 3}}" for column in COLUMNS) + "   rooms in circles")
    for name in sorted(found, key=lambda each: each in BESIDE):
        print(row(name, found[name]).rstrip())
    tests = [module.lines for module in found.get("tests", ()) if module.path.name.startswith("test_")]
    if tests:
        print(
            f"{len(tests)} test files, {sum(each <= TINY_TEST for each in tests)} of at most"
            f" {TINY_TEST} lines"
        )


def details(modules: list[Module]) -> None:
    """Print what makes up the figures."""
    imports = list(imports_in(modules))
    for folder, rooms in circles(imports):
        _circle([each for each in imports if each.folder == folder and {each.user, each.used} <= {*rooms}])
    print("\nclasses of one name")
    for name, where in same_names(modules).items():
        print(f"  {name}: {', '.join(where)}")
    print(f"\nmodules of at most {SMALL} lines")
    for module in sorted(modules, key=lambda each: each.lines):
        if module.lines <= SMALL and not module.is_init:
            print(f"  {module.lines:>3} {module.name}")
    print(f"\nlines of more than {WIDEST} columns")
    for module in modules:
        if module.wide:
            print(f"  {len(module.wide):>3} {module.name}: {', '.join(map(str, module.wide[:8]))}")


def _circle(imports: list[Import]) -> None:
    print(f"\ncircle in {imports[0].folder}: {', '.join(sorted({each.user for each in imports}))}")
    counts = Counter((each.user, each.used) for each in imports)
    for (user, used), count in sorted(counts.items(), key=lambda each: (each[1], each[0])):
        print(f"  {user} -> {used}: {count}")
        if count <= FEW:
            for by, of in sorted(
                {(i.by.name, i.of.name) for i in imports if (i.user, i.used) == (user, used)}
            ):
                print(f"      {by} -> {of}")


def main() -> None:
    """Print the table, and the details of the packages that are named."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.house", description="Print figures of the source tree."
    )
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join((*PRODUCT, *BESIDE)))
    packages = parser.parse_args().packages
    for package in packages:
        if not (ROOT / package).is_dir():
            sys.exit(f"error: no package {package}")
    table(packages or (*PRODUCT, *BESIDE))
    for package in packages:
        details(modules_of(package))


if __name__ == "__main__":
    main()
