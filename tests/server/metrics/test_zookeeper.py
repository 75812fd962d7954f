from server.metrics.sources import Znodes
from tests.server.scraping import scrape, value


def test_rejected_znodes_are_counted_by_kind() -> None:
    samples = scrape(znodes=Znodes({"topic": 2}, {"reassign_partitions": 5}, {"won": 3, "lost": 2}))
    assert value(samples, "reassignd_zookeeper_refused_documents_total", znode="topic") == 2
    assert value(samples, "reassignd_zookeeper_refused_rows_total", znode="reassign_partitions") == 5
    assert value(samples, "reassignd_zookeeper_terms_total", event="lost") == 2
