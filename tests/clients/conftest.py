"""Session fixtures: one server, and one JVM for each Java client."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.cluster import Cluster
from tests.clients.java_programs import TOOL_VERSIONS, JavaAdmin, Tools
from tests.clients.servers import Server, running_server
from tests.clients.tool import Tool
from tests.clients.unclosed_sockets import ignore_unclosed_sockets, ignore_unclosed_sockets_at_exit

AGAINST = os.environ.get("REASSIGND_CLIENT_TESTS_AGAINST", "embedded")

collect_ignore = [] if AGAINST == "embedded" else ["test_survival.py", "test_large_plan.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ignore_unclosed_sockets(items, Path(__file__).parent)


def pytest_unconfigure() -> None:
    ignore_unclosed_sockets_at_exit()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(AGAINST, tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="session")
def java_admin(server: Server) -> Iterator[JavaAdmin]:
    with JavaAdmin(server.bootstrap) as admin:
        yield admin


@pytest.fixture
def cluster(server: Server, java_admin: JavaAdmin) -> Iterator[Cluster]:
    cluster = Cluster(server, java_admin)
    yield cluster
    cluster.clean()


@pytest.fixture(scope="session", params=TOOL_VERSIONS)
def tools(request: pytest.FixtureRequest) -> Iterator[Tools]:
    with Tools(request.param) as resident:
        yield resident


@pytest.fixture
def tool(tools: Tools, cluster: Cluster, tmp_path: Path) -> Tool:
    return Tool(tools, cluster.bootstrap, tmp_path)
