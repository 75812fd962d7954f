"""Each field of the state has one owner: nobody else assigns to it, or changes what is in it."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from controller.modes import EMBEDDED
from controller.scheduling.backlog import Backlog, StepPlans
from controller.scheduling.limits import Usage
from controller.state.cluster import ClusterState
from controller.state.disks import DiskState
from controller.state.gateway import GatewayState
from controller.state.orders import Listing, Orders, StepsInFlight
from controller.state.settings import PaceState, SettingsState, ThrottleState
from controller.state.state import State
from controller.state.tasks import TaskState
from tests.test_layout import statements

ROOT = Path(__file__).parents[2]
PRODUCT = ("controller", "server", "backends", "planner", "reassignd", "bench", "campaigns", "tools")
MUTATORS = {
    *("add", "discard", "remove", "update", "clear", "pop", "popitem", "setdefault"),
    *("append", "appendleft", "extend", "insert", "popleft"),
    *("difference_update", "intersection_update", "symmetric_difference_update", "subtract"),
}
OWNERS = {
    "cluster": ClusterState,
    "orders": Orders,
    "gateway": GatewayState,
    "settings": SettingsState,
    "throttle": ThrottleState,
    "pace": PaceState,
    "listing": Listing,
    "backlog": Backlog,
    "in_flight": StepsInFlight,
    "usage": Usage,
    "planned": StepPlans,
    "tasks": TaskState,
    "disks": DiskState,
}
MOST_FIELDS = 25


def fields_of(owner: type) -> set[str]:
    """The public fields of the owner; of a class without declarations, those of a new object."""
    if hasattr(owner, "__dataclass_fields__"):
        return {each.name for each in fields(owner)}
    return {name for name in vars(owner()) if not name.startswith("_")}


FIELDS = {name: fields_of(owner) for name, owner in OWNERS.items()} | {"state": set(State.__slots__)}


def chain(node: ast.expr, names: dict[str, str]) -> str:
    """The dotted name of an expression, without subscripts; `names` has what local names stand for."""
    match node:
        case ast.Attribute(value, attribute):
            return f"{chain(value, names)}.{attribute}"
        case ast.Subscript(value):
            return chain(value, names)
        case ast.Name(name):
            return names.get(name, name)
    return ""


def is_owned(target: str) -> bool:
    """Whether the dotted name ends with an owner, reached through a state, and one of its fields."""
    *path, owner, name = ["", *target.split(".")]
    through = [part.lstrip("_") for part in (*path, owner)]
    return "state" in through and name in FIELDS.get(through[-1], ())


def written(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions that the statement or call assigns to, deletes, or changes."""
    match node:
        case ast.Assign(targets) | ast.Delete(targets):
            for target in targets:
                yield from target.elts if isinstance(target, ast.Tuple) else (target,)
        case ast.AugAssign(target) | ast.AnnAssign(target, value=ast.expr()):
            yield target
        case ast.Call(ast.Attribute(value, method)) if method in MUTATORS:
            yield value


def local_names(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """What the local names of a function stand for, as far as they are parts of a state."""
    names: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
                pairs = list(zip(targets, values, strict=False))
            case ast.Assign([target], value):
                pairs = [(target, value)]
            case _:
                continue
        for left, right in pairs:
            whole = chain(right, names)
            if isinstance(left, ast.Name) and not isinstance(right, ast.Subscript) and "state" in whole:
                names[left.id] = whole
    return names


def functions(source: str) -> Iterator[list[ast.AST]]:
    """The nodes of each function that mentions a state."""
    lines = source.splitlines()
    for function in statements(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and any(
            "state" in line for line in lines[function.lineno - 1 : function.end_lineno]
        ):
            yield list(ast.walk(function))


def writes(source: str) -> list[tuple[int, str]]:
    """The line and the dotted name of each change to a field of the state from outside of its owner."""
    found = set()
    for nodes in functions(source) if "state." in source else ():
        names = local_names(nodes)
        for node in nodes:
            for target in written(node):
                whole = chain(target, names)
                called = isinstance(node, ast.Call)
                is_method = called and whole.rpartition(".")[2] in OWNERS  # of the owner itself
                is_local = isinstance(target, ast.Name) and not called
                if is_owned(whole) and not is_method and not is_local:
                    found.add((target.lineno, whole))
    return sorted(found)


def test_only_owners_change_the_state() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {target}"
        for package in PRODUCT
        for path in sorted((ROOT / package).rglob("*.py"))
        if "/messages/" not in path.as_posix()
        for line, target in writes(path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "statement",
    [
        "d.state.cluster.measured = True",
        "state.cluster.adding += 1",
        "self._state.orders.jobs[3] = job",
        "del state.orders.jobs[3]",
        "state.mode, x = y, 3",
        "state.cluster.live.add(3)",
        "live = state.cluster.live; live.clear()",
        "orders = d.state.orders; orders.paused = False",
        "backlog = state.backlog; backlog.usage.held = 0",
    ],
)
def test_a_change_from_outside_is_found(statement: str) -> None:
    assert len(writes(f"def f():\n    {statement}")) == 1


@pytest.mark.parametrize(
    "statement",
    ["live = {*state.cluster.live}", "state.cluster.broker_started(3)", "state.partitions[0] = x"],
)
def test_reads_and_calls_of_an_owner_are_no_changes(statement: str) -> None:
    assert writes(f"def f():\n    {statement}") == []


def test_no_owner_has_too_many_fields() -> None:
    sizes = {name: len(each) for name, each in FIELDS.items()}
    assert max(sizes.values()) <= MOST_FIELDS, sizes


def test_a_state_has_all_owners() -> None:
    state = State(EMBEDDED)
    assert all(type(getattr(state, name)) is OWNERS[name] for name in FIELDS if hasattr(state, name))
