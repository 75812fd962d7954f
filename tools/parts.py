"""The suites of tests that `tools.suite` runs, and their parts.

* `static`: formatting, types, layers, generated files and the site of the documents.
* `unit`: the unit tests.
* `test`: both, the contract of all backends, the planner on a real Spark, and a tour of each mode.
* `all`: all tests, with coverage of the unit tests, and property tests with all their examples: in parts of
  their own, because coverage makes them two to three times as slow.

Parts start in the order of their suite, unless something that they need is missing. So what takes long, or is
needed by others, stands first.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

PYTEST = "python -m pytest -q"
SITE = "sphinx-build --quiet --fail-on-warning --conf-dir docs --doctree-dir build/doctrees . build/site"

FOLDERS = {
    "reassignd": "tests/reassignd tests/tools tests/campaigns tests/documents tests/deploy",
    "core": "tests/controller tests/protocol tests/common tests/test_docs.py tests/test_docstrings.py"
    " tests/test_layout.py tests/test_promises.py tests/test_words.py",
    "server": "tests/server",
    "backends": "tests/backends",
    "planner": "tests/planner",
}
"""Tests that need no other program. Each part collects only its own tests.

The first waits for processes and for time more than half of its own. The others are in the order of what they
compute.
"""

WITH_PROPERTIES = ("core", "backends", "planner", "server")
"""The folders that have property tests."""

UNIT = "not whole and not spark and not tour"

REAL = ("tests/upstream", "tests/zookeeper", "tests/clients")
"""Tests with Kafka, ZooKeeper and Kafka's clients."""

PATIENT = f"{PYTEST} --timeout 600 --maxfail 20"
"""A session's clusters start within the time of its first test, and other lanes start theirs at that time.
Without its cluster, each further test would fail after minutes: twenty failures are enough to see that."""

NO_TOURS = "--ignore tests/clients/secured --ignore tests/clients/test_other_clients.py"
"""They import clients that the tours do not need, and that only `all` installs."""


class Part(NamedTuple):
    """A command, and the parts that must have passed before it starts."""

    name: str
    command: str
    needs: tuple[str, ...] = ()
    environment: Mapping[str, str] = MappingProxyType({})
    waits: bool = False
    """It mostly waits, and may run beside as many others as there are cores."""
    real: bool = False
    """It runs real brokers. Those of two parts on two cores would keep each other waiting, so a suite runs
    one such part at a time for each two cores, as long as there are parts that compute to run beside it."""


def _unit(options: str = "") -> list[Part]:
    return [
        Part(
            f"unit-{name}",
            f"{PYTEST} -m '{UNIT}' {options} {paths}",
            environment={"COVERAGE_FILE": f".coverage.unit-{name}"},
            waits=name == "reassignd",
        )
        for name, paths in FOLDERS.items()
    ]


def _static(*needs: str) -> list[Part]:
    """The checks that need no test. Types are checked against PySpark's where it is installed."""
    return [
        Part("types", "mypy", needs),
        Part("site", SITE),
        Part("layers", "lint-imports"),
        Part("style", "ruff check ."),
        Part("format", "ruff format --check ."),
        Part("messages", "python -m protocol.generate --check"),
        Part("reference", "python -m tools.reference --check"),
        Part("states", "python -m tools.draw_states --check"),
        Part("dashboard", "python -m tools.dashboard --check"),
    ]


ALL_EXAMPLES = {"REASSIGND_EXAMPLES": "all"}
COVERAGE = "sh -c '.venv/bin/coverage combine --quiet && .venv/bin/coverage report'"
JARS = "python -m tools.java tools-4.3 broker-4.1 broker-3.9 tools-3.9"

TEST = [
    Part("packages", "make --no-print-directory .venv/tours.done"),
    Part("jars", JARS, ("packages",)),
    *(Part(f"tour-{path[6:]}", f"{PATIENT} -m tour {path} {NO_TOURS}", ("jars",)) for path in REAL),
    *_unit(),
    Part("contract", f"{PYTEST} tests/backends/test_contract.py"),
    Part("tour-planner", f"{PATIENT} -m tour tests/planner", ("packages",)),
    Part("tour-page", f"{PATIENT} -m tour tests/server/page", ("packages",)),
    *_static("packages"),
]

ALL = [
    Part("packages", "make --no-print-directory .venv/all.done"),
    Part("jars", "python -m tools.java", ("packages",)),
    Part("other-clients", "python -m tools.other_clients"),
    *(
        Part(name, f"{PATIENT} {tests}", ("jars", "other-clients"), ALL_EXAMPLES, name != "clients", True)
        for name, tests in {
            "upstream": "-m four_brokers tests/upstream",
            "upstream-own": "-m 'not four_brokers' tests/upstream",
            "zookeeper": "tests/zookeeper",
            "clients": "tests/clients",
        }.items()
    ),
    Part("kubernetes", "python -m tools.kubernetes"),
    Part("spark", f"{PATIENT} -m spark tests/planner tests/reassignd", ("packages",), ALL_EXAMPLES),
    *(
        Part(
            f"whole-{name}",
            f"{PATIENT} -m 'whole and not spark' {paths}",
            ("jars", "kubernetes"),
            ALL_EXAMPLES,
        )
        for name, paths in FOLDERS.items()
    ),
    *(
        Part(
            f"properties-{name}",
            f"{PATIENT} -m '(hypothesis or sampled) and {UNIT}' {FOLDERS[name]}",
            environment=ALL_EXAMPLES,
        )
        for name in WITH_PROPERTIES
    ),
    *_unit("--cov --cov-report= --cov-fail-under=0"),
    Part("coverage", COVERAGE, tuple(f"unit-{name}" for name in FOLDERS)),
    *_static("packages"),
]

SUITES = {"static": _static(), "unit": _unit(), "test": TEST, "all": ALL}
