"""Rules of the source tree: each module has its test file, and functions have a maximum length."""

import ast
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("reassignd", "server", "backends", "planner", "controller", "protocol", "common", "tools")
GENERATED = ROOT / "protocol" / "messages"

LONGEST_FUNCTION = 40

LARGEST_FOLDER = 18
"""Modules of a folder. Above about 15, sub-packages by subject make modules easier to find."""

FLAT = {"bench", "campaigns", "server/handlers", "tools"}
"""Folders of modules of one kind: a benchmark, campaign or tool with a command of its own, or a handler of one API key."""

COMMANDS = ("options", "jobs/pause", "planning/snapshot")

TESTED_ELSEWHERE = {
    "reassignd/commands/cluster/placement.py": "tests/reassignd/commands/planning/test_propose_execute.py",
    "backends/zookeeper/session/client.py": "tests/zookeeper/test_client.py",
    "backends/zookeeper/store/transaction.py": "tests/backends/zookeeper/store/test_store.py",
    "backends/zookeeper/znodes/paths.py": "tests/backends/zookeeper/store/test_store.py",
    "backends/zookeeper/session/tree.py": "tests/backends/zookeeper/behaviour.py",
    "reassignd/commands/jobs/zk.py": "tests/zookeeper/test_zk_command.py",
    "reassignd/runtime/controller_term.py": "tests/zookeeper/test_moves.py",
    **{f"reassignd/commands/{name}.py": "tests/reassignd/test_commands.py" for name in COMMANDS},
    "controller/scheduling/buckets.py": "tests/controller/scheduling/test_backlog.py",
    "planner/expressions.py": "tests/planner/test_spark.py",
    "reassignd/runtime/data_dir.py": "tests/reassignd/test_serve.py",
    "reassignd/runtime/embedded.py": "tests/reassignd/runtime/test_assembly.py",
    "reassignd/runtime/embedded_adapter.py": "tests/reassignd/runtime/test_assembly.py",
    "reassignd/runtime/gateway.py": "tests/upstream/test_gateway_serves.py",
    "reassignd/runtime/upstream_adapter.py": "tests/upstream/test_gateway_serves.py",
    **{
        f"reassignd/runtime/instances/{name}.py": "tests/reassignd/runtime/instances/test_runtime.py"
        for name in ("adapter", "connection", "term")
    },
    "reassignd/runtime/runtimes.py": "tests/reassignd/test_serve.py",
    "server/metrics/sources.py": "tests/server/scraping.py",
    "server/api/views/rollback.py": "tests/server/api/resources/test_jobs.py",
    "server/api/roles.py": "tests/server/api/test_access.py",
    "server/api/table.py": "tests/server/api/test_openapi.py",
    "server/api/resources/whoami.py": "tests/server/api/test_access.py",
    "server/api/services/proposal_store.py": "tests/server/api/resources/test_proposals.py",
    "server/api/views/rows.py": "tests/server/api/resources/test_jobs.py",
    "tools/instances.py": "tests/upstream/test_instances.py",
    "tools/certificates.py": "tests/upstream/test_connections.py",
    "tools/proposal_oracle.py": "tests/planner/proposals/test_proposal.py",
    "tools/proposal_oracle_input.py": "tests/planner/proposals/test_proposal.py",
    "tools/zookeeper_controller.py": "tests/zookeeper/site.py",
    "tools/java.py": "tests/clients/java_programs.py",
    "tools/kafka_cluster.py": "tests/upstream/conftest.py",
    "tools/processes.py": "tests/clients/servers.py",
    "tools/shared_name.py": "tests/upstream/test_shared_name.py",
    "tools/zookeeper_cluster.py": "tests/zookeeper/conftest.py",
}
"""Modules that need a running server, Spark or other processes, and the tests that cover them."""

OF_MANY_MODULES = {
    "backends/test_contract.py",
    "backends/test_stores.py",
    "backends/zookeeper/test_bad_znodes.py",
    "backends/zookeeper/test_cancel_and_queue.py",
    "backends/zookeeper/test_memory_tree.py",
    "backends/state_topic/test_simulation.py",
    "backends/test_crashes.py",
    "planner/proposals/test_failing_brokers.py",
    "reassignd/test_secured_embedded.py",
    "controller/configs/test_static.py",
    "controller/test_cases.py",
    "controller/test_determinism.py",
    "controller/test_gateway_properties.py",
    "controller/test_moves_of_others.py",
    "controller/test_properties.py",
    "controller/test_reconciliation_lag.py",
    "controller/test_reconciliation_properties.py",
    "controller/test_stale_states.py",
    "controller/test_window_properties.py",
    "reassignd/whole_server/test_audit.py",
    "reassignd/whole_server/test_bad_input.py",
    "reassignd/test_commands.py",
    "reassignd/whole_server/test_http_security.py",
    "reassignd/whole_server/test_operator_day.py",
    "reassignd/whole_server/test_pace_and_schedule.py",
    "server/page/test_accessibility.py",
    "server/page/test_history_in_browser.py",
    "server/page/test_in_browser.py",
    "server/page/test_many_partitions.py",
    "server/page/test_overview_in_browser.py",
    "server/page/test_shared_use.py",
    "server/page/test_submit_in_browser.py",
    "server/test_adversity.py",
    "server/test_fuzz.py",
    "server/gateway/test_churn.py",
    "server/peers/test_two_gateways.py",
    "test_docs.py",
    "test_layout.py",
}
"""Test files that do not belong to a single module. Those in WHOLE test the whole server or a whole backend."""

WHOLE = [ROOT / "tests" / name for name in ("clients", "deploy", "documents", "upstream", "zookeeper")]


def written(folder: Path) -> Iterator[Path]:
    """The modules in the folder that people wrote."""
    return (path for path in sorted(folder.rglob("*.py")) if GENERATED not in path.parents)


class Source(NamedTuple):
    """What the rules ask of a module. The trees of all modules together would take 250 MB."""

    functions: list[tuple[str, int]]
    """The names, and the lines after the first."""
    imports: list[tuple[str, list[str]]]
    """The modules, and the names that are imported from each."""
    runs: bool
    """Whether a function of the module does anything: names, types and ports do not."""


@cache
def parsed(path: Path) -> Source:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return Source(
        [(node.name, (node.end_lineno or 0) - node.lineno) for node in functions],
        [(node.module, [each.name for each in node.names]) for node in imports if node.module],
        any(not _says(part) for function in functions for part in function.body),
    )


def _says(statement: ast.stmt) -> bool:
    """A docstring, or the dots of a port."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def name_of(source: Path) -> str:
    return source.relative_to(ROOT).as_posix()


def own_tests_of(source: Path) -> Path:
    own = ROOT / "tests" / source.relative_to(ROOT).with_name(f"test_{source.name}")
    return ROOT / TESTED_ELSEWHERE.get(name_of(source), own)


SOURCES = [path for package in PACKAGES for path in written(ROOT / package)]
MODULES = [path for path in SOURCES if path.name != "__init__.py" and parsed(path).runs]
FILES = [*SOURCES, *written(ROOT / "bench"), *written(ROOT / "campaigns"), *written(ROOT / "tests")]


@pytest.mark.parametrize("source", MODULES, ids=name_of)
def test_a_module_has_its_test_file(source: Path) -> None:
    assert own_tests_of(source).exists()


def test_a_test_file_has_its_module() -> None:
    tests = ROOT / "tests"
    stray = {
        path.relative_to(tests).as_posix()
        for path in tests.rglob("test_*.py")
        if not any(folder in path.parents for folder in WHOLE)
        and not (ROOT / path.relative_to(tests).with_name(path.name.removeprefix("test_"))).exists()
    }
    assert stray == OF_MANY_MODULES


def test_modules_tested_elsewhere_exist_and_have_no_test_file_of_their_own() -> None:
    for source, tested in TESTED_ELSEWHERE.items():
        assert (ROOT / source).exists(), source
        assert (ROOT / tested).exists(), tested
        assert not (ROOT / "tests" / Path(source).with_name(f"test_{Path(source).name}")).exists(), source


def test_no_function_is_longer_than_a_page() -> None:
    long = {
        f"{name_of(path)}: {name}"
        for path in FILES
        for name, lines in parsed(path).functions
        if lines >= LONGEST_FUNCTION
    }
    assert long == set()


def test_folders_are_divided_by_subject() -> None:
    sizes = Counter(
        path.parent for path in FILES if path.name != "__init__.py" and ROOT / "tests" not in path.parents
    )
    assert {name_of(path) for path, size in sizes.items() if size > LARGEST_FOLDER} == FLAT


def imported_by(path: Path, known: Collection[Path]) -> Iterator[Path]:
    """The modules in `known` that the module imports, as files, at run time or for types alone."""
    for module, names in parsed(path).imports:
        folder = ROOT / module.replace(".", "/")
        for candidate in (folder.with_suffix(".py"), *(folder / f"{name}.py" for name in names)):
            if candidate in known:
                yield candidate


def test_no_files_import_each_other_in_a_circle() -> None:
    known = frozenset(SOURCES)
    graph = {path: set(imported_by(path, known)) for path in SOURCES}
    assert len(list(TopologicalSorter(graph).static_order())) == len(SOURCES)
