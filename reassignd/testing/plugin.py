"""The pytest plugin: embedded clusters as fixtures. pytest loads it from the entry point `pytest11`.

| Fixture | What |
| --- | --- |
| `reassignd_cluster` | a cluster for one test, with blocking methods |
| `reassignd_cluster_async` | a cluster for one test on its event loop, with `await`able methods |
| `reassignd_shared_cluster` | one cluster for all tests of the session, with blocking methods |

`@pytest.mark.reassignd(brokers=4, clock="manual", settings={...})` sets what the cluster of a test is like; the options of the
same names with the prefix `reassignd_` in pytest's ini file set it for all tests. The imports are inside the functions, because
pytest loads the plugin in every project that has reassignd installed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

try:
    import pytest_asyncio
except ImportError:  # only the async fixture needs it
    pytest_asyncio = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from reassignd.embedded import EmbeddedCluster
    from reassignd.testing.blocking import BlockingCluster

CLOCKS = ("real", "manual")
SHARED = "reassignd_shared_cluster"
FIXTURES = {SHARED, "reassignd_cluster", "reassignd_cluster_async"}


class Options(NamedTuple):
    """What a cluster is like. `settings` are keys of the configuration reference."""

    brokers: int = 3
    clock: str = "real"
    racks: int | None = None
    partition_bytes: int | None = None
    settings: tuple[tuple[str, str], ...] = ()

    def cluster(self) -> EmbeddedCluster:
        """Return a cluster that is not started yet."""
        from reassignd.embedded import EmbeddedCluster, ManualClock, RealClock

        own = {"embedded.racks": self.racks, "embedded.partition.bytes": self.partition_bytes}
        set_ = {key: str(value) for key, value in own.items() if value is not None}
        clock = ManualClock() if self.clock == "manual" else RealClock()
        return EmbeddedCluster(self.brokers, clock=clock, settings={**set_, **dict(self.settings)})


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
        "reassignd(brokers, racks, partition_bytes, clock, settings): what the embedded cluster of the test is like",
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a marker that the cluster of the session cannot follow."""
    fixtures = set(getattr(item, "fixturenames", ()))
    if item.get_closest_marker("reassignd") and FIXTURES & fixtures == {SHARED}:
        raise pytest.UsageError(
            f"the marker reassignd has no effect on {SHARED}, which is one for all tests:"
            " use the options of the ini file, or reassignd_cluster"
        )


@pytest.fixture
def reassignd_cluster(request: pytest.FixtureRequest) -> Iterator[BlockingCluster]:
    """Give the test a cluster of its own, with blocking methods."""
    from reassignd.testing.blocking import BlockingCluster

    with BlockingCluster(_options(request).cluster) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def reassignd_shared_cluster(request: pytest.FixtureRequest) -> Iterator[BlockingCluster]:
    """Give all tests one cluster, as the ini file describes it. Tests must name topics differently."""
    from reassignd.testing.blocking import BlockingCluster

    with BlockingCluster(_of_ini(request.config).cluster) as cluster:
        yield cluster


async def _cluster_on_the_loop(request: pytest.FixtureRequest) -> AsyncIterator[EmbeddedCluster]:
    """Give the test a cluster of its own on its event loop."""
    async with _options(request).cluster() as cluster:
        yield cluster


if pytest_asyncio is not None:
    reassignd_cluster_async = pytest_asyncio.fixture(_cluster_on_the_loop, name="reassignd_cluster_async")


def _of_ini(config: pytest.Config) -> Options:
    """Return the options of the ini file."""
    texts = {name: config.getini(f"reassignd_{name}") for name in ("brokers", "racks", "partition_bytes")}
    numbers = {name: _number(f"reassignd_{name}", text) for name, text in texts.items() if text}
    settings = [line.partition("=") for line in config.getini("reassignd_settings")]
    pairs = {key.strip(): value.strip() for key, _, value in settings}
    return _checked({**numbers, "clock": config.getini("reassignd_clock"), "settings": pairs})


def _options(request: pytest.FixtureRequest) -> Options:
    """Return the options of the test's markers, the nearest first, over those of the ini file."""
    options = _of_ini(request.config)._asdict()
    for marker in reversed(list(request.node.iter_markers("reassignd"))):
        if marker.args:
            raise pytest.UsageError("the marker reassignd takes named arguments only: reassignd(brokers=4)")
        if unknown := marker.kwargs.keys() - options.keys():
            raise pytest.UsageError(
                f"the marker reassignd has no argument {min(unknown)}; it has {', '.join(options)}"
            )
        given = dict(marker.kwargs)
        given["settings"] = {**dict(options["settings"]), **given.get("settings", {})}
        options |= given
    return _checked(options)


def _checked(options: Mapping[str, Any]) -> Options:
    if options["clock"] not in CLOCKS:
        raise pytest.UsageError(f"the clock of reassignd is {' or '.join(CLOCKS)}, not {options['clock']!r}")
    return Options(**{**options, "settings": tuple(dict(options["settings"]).items())})


def _number(name: str, text: str) -> int:
    if not text.strip().isdecimal():
        raise pytest.UsageError(f"the option {name} must be a number, not {text!r}")
    return int(text)
