"""The pytest plugin: embedded clusters as fixtures. pytest loads it from the entry point `pytest11`.

| Fixture | What |
| --- | --- |
| `reassignd_cluster` | a cluster for one test, with blocking methods |
| `reassignd_cluster_async` | a cluster for one test on its event loop, with `await`able methods |
| `reassignd_shared_cluster` | one cluster for all tests of the session, with blocking methods |

`@pytest.mark.reassignd(brokers=4, clock="manual", settings={...})` sets what the cluster of a test is like;
the options of the same names with the prefix `reassignd_` in pytest's ini file set it for all tests. The
imports are inside the functions, because pytest loads the plugin in every project that has reassignd
installed.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import pytest

if TYPE_CHECKING:
    from reassignd.embedded import EmbeddedCluster
    from reassignd.testing.blocking import BlockingCluster

NUMBERS = {
    "brokers": "embedded.brokers",
    "racks": "embedded.racks",
    "partition_bytes": "embedded.partition.bytes",
}
"""The options that are numbers, and the settings that they stand for."""

CLOCKS = ("real", "manual")
OPTION, ARGUMENT = "the option reassignd_{}", "the argument {} of the marker reassignd"
"""How errors name an option of the ini file, and an argument of the marker."""
MARKER = "reassignd"
SHARED = "reassignd_shared_cluster"
ON_LOOP = "reassignd_cluster_async"
FIXTURES = {SHARED, ON_LOOP, "reassignd_cluster"}


class Options(NamedTuple):
    """What a cluster is like. `settings` are keys of the configuration reference."""

    brokers: int = 3
    clock: str = "real"
    racks: int | None = None
    partition_bytes: int | None = None
    settings: Mapping[str, object] = {}

    def cluster(self) -> EmbeddedCluster:
        """Return a cluster that is not started yet."""
        from reassignd.embedded import EmbeddedCluster, ManualClock, RealClock

        numbers = {key: getattr(self, name) for name, key in NUMBERS.items()}
        given = {key: value for key, value in numbers.items() if value is not None}
        clock = ManualClock() if self.clock == "manual" else RealClock()
        return EmbeddedCluster(clock=clock, settings={**given, **self.settings})


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of the ini file."""
    parser.addini("reassignd_brokers", "number of brokers of embedded clusters", default="3")
    parser.addini("reassignd_racks", "number of racks of embedded clusters", default="")
    parser.addini("reassignd_partition_bytes", "bytes of a partition of embedded clusters", default="")
    parser.addini("reassignd_clock", "clock of embedded clusters: real or manual", default="real")
    parser.addini(
        "reassignd_settings", "settings of embedded clusters, KEY=VALUE", type="linelist", default=[]
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers",
        "reassignd(brokers, racks, partition_bytes, clock, settings): what the embedded cluster of the test"
        " is like",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse a marker that seems to be meant for a cluster, but has another name. Raises UsageError."""
    known = {re.split("[(:]", line)[0].strip() for line in config.getini("markers")}
    for item in items:
        if FIXTURES & set(getattr(item, "fixturenames", ())):
            for name in {each.name for each in item.iter_markers()} - known:
                if name.startswith(MARKER) or get_close_matches(name, [MARKER], cutoff=0.8):
                    raise pytest.UsageError(
                        f"{item.nodeid}: unknown marker {name}; the marker of reassignd's clusters is"
                        f" {MARKER}"
                    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a marker that the cluster of the session cannot follow."""
    fixtures = set(getattr(item, "fixturenames", ()))
    if item.get_closest_marker("reassignd") and FIXTURES & fixtures == {SHARED}:
        _refuse(
            f"the marker reassignd has no effect on {SHARED}, which is one for all tests:"
            " use the options of the ini file, or reassignd_cluster"
        )


@pytest.fixture
def reassignd_cluster(request: pytest.FixtureRequest) -> Iterator[BlockingCluster]:
    """Give the test a cluster of its own, with blocking methods."""
    with _blocking(_options(request)) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def reassignd_shared_cluster(request: pytest.FixtureRequest) -> Iterator[BlockingCluster]:
    """Give all tests one cluster, as the ini file describes it. Tests must name topics differently."""
    with _blocking(_of_ini(request.config)) as cluster:
        yield cluster


async def _cluster_on_the_loop(request: pytest.FixtureRequest) -> AsyncIterator[EmbeddedCluster]:
    """Give the test a cluster of its own on its event loop."""
    options = _options(request)
    async with AsyncExitStack() as stack:
        with _errors_in_one_line():
            cluster = await stack.enter_async_context(options.cluster())
        yield cluster


def _no_loop() -> NoReturn:
    """Tell what the test lacks."""
    _refuse(f"{ON_LOOP} needs pytest-asyncio: pip install pytest-asyncio")


try:
    import pytest_asyncio
except ImportError:
    reassignd_cluster_async = pytest.fixture(_no_loop, name=ON_LOOP)
else:
    reassignd_cluster_async = pytest_asyncio.fixture(_cluster_on_the_loop, name=ON_LOOP)  # type: ignore[assignment]


@contextmanager
def _blocking(options: Options) -> Iterator[BlockingCluster]:
    from reassignd.testing.blocking import BlockingCluster

    with ExitStack() as stack:
        with _errors_in_one_line():
            cluster = stack.enter_context(BlockingCluster(options.cluster))
        yield cluster


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """Report errors of settings, and of the start, without a traceback through this package."""
    from reassignd.config.errors import CommandError, ConfigError

    try:
        yield
    except (CommandError, ConfigError) as error:
        _refuse(f"reassignd: {error}")


def _of_ini(config: pytest.Config) -> Options:
    """Return the options of the ini file."""
    texts = {name: config.getini(f"reassignd_{name}") for name in (*NUMBERS, "clock")}
    settings: dict[str, object] = {}
    for line in config.getini("reassignd_settings"):
        key, equals, value = line.partition("=")
        if not equals:
            _refuse(f"{OPTION.format('settings')}: =VALUE is missing after {line!r}")
        settings[key.strip()] = value.strip()
    given = {name: text for name, text in texts.items() if text}
    return Options(**{**_checked(OPTION, given), "settings": settings})


def _options(request: pytest.FixtureRequest) -> Options:
    """Return the options of the test's markers, the nearest first, over those of the ini file."""
    options = _of_ini(request.config)
    for marker in reversed(list(request.node.iter_markers("reassignd"))):
        if marker.args:
            _refuse("the marker reassignd takes named arguments only: reassignd(brokers=4)")
        if unknown := marker.kwargs.keys() - set(Options._fields):
            _refuse(
                f"the marker reassignd has no argument {min(unknown)}; it has {', '.join(Options._fields)}"
            )
        given = _checked(ARGUMENT, marker.kwargs)
        settings = {**options.settings, **given.pop("settings", {})}
        options = options._replace(**given, settings=settings)
    return options


def _checked(named: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with numbers as such. `named` is how an error names one."""
    from reassignd.config.settings import KEYS

    checked = dict(given)
    for name in NUMBERS.keys() & given.keys():
        kind = KEYS[NUMBERS[name]].kind
        try:
            checked[name] = kind.parse(str(given[name]))
        except ValueError:
            _refuse(f"{named.format(name)} must be {kind.valid}, not {given[name]!r}")
    if given.get("clock", CLOCKS[0]) not in CLOCKS:
        _refuse(f"{named.format('clock')} must be {' or '.join(CLOCKS)}, not {given['clock']!r}")
    if not isinstance(given.get("settings", {}), Mapping):
        _refuse(f"{named.format('settings')} must be a dict of settings, not {given['settings']!r}")
    return checked


def _refuse(message: str) -> NoReturn:
    """Fail the test with this message alone.

    Neither a traceback nor an earlier exception would help its author.
    """
    raise pytest.fail.Exception(message, pytrace=False) from None
