"""The commands of the documents about gateways run as they are written."""

from pathlib import Path

import pytest

from tests.documents.cases import KAFKA_PAGES
from tests.documents.page import run_page
from tests.documents.shell import Shell
from tools.kafka_cluster import KafkaCluster


@pytest.mark.timeout(900)  # with a JVM for each of Kafka's tools
@pytest.mark.parametrize("page", sorted(KAFKA_PAGES))
def test_commands_of_a_document_run(page: str, kafka: KafkaCluster, tmp_path: Path) -> None:
    servers = {
        "kafka1:9092": kafka.address(1),
        "kafka2:9092": kafka.address(2),
        "127.0.0.1:19092": kafka.address(1),
    }
    with Shell(tmp_path, {}, servers) as shell:
        run_page(shell, page, "true")
