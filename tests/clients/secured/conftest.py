"""Session fixtures: the secured servers, and one JVM for the Java Admin client."""

from collections.abc import Iterator, Mapping

import pytest

from tests.clients.java_programs import JavaProgram
from tests.clients.secured.servers import SASL, TLS, SecuredServer, running


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, SecuredServer]]:
    with (
        running(SASL, tmp_path_factory.mktemp("sasl")) as sasl,
        running(TLS, tmp_path_factory.mktemp("tls")) as tls,
    ):
        yield {SASL: sasl, TLS: tls}


@pytest.fixture(scope="session")
def java_login() -> Iterator[JavaProgram]:
    with JavaProgram("tools-4.3", "secured/Login.java") as program:
        yield program
