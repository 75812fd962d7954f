"""Session fixtures: ZooKeeper, real brokers, reassignd as the controller, and command line tools."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.java_programs import Tools
from tests.clients.unclosed_sockets import ignore_unclosed_sockets, ignore_unclosed_sockets_at_exit
from tests.zookeeper.site import Site
from tools.zookeeper_cluster import running_cluster


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Four brokers of Kafka 3.9 with inter-broker protocol 2.4-IV0."""
    with running_cluster(4, tmp_path_factory.mktemp("cluster")) as cluster, Site(cluster) as site:
        yield site


@pytest.fixture(autouse=True)
def released(request: pytest.FixtureRequest) -> Iterator[None]:
    """Release what a failed test holds: all tests use the same site."""
    site: Site | None = request.getfixturevalue("site") if "site" in request.fixturenames else None
    yield
    if site is not None and site.held:
        site.release()


@pytest.fixture(scope="session")
def tools() -> Iterator[Tools]:
    """The command line tools of Kafka 3.9."""
    with Tools("3.9") as resident:
        yield resident


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ignore_unclosed_sockets(items, Path(__file__).parent)


def pytest_unconfigure() -> None:
    ignore_unclosed_sockets_at_exit()
