from controller.state.state import State
from server.metrics.exposition import Metrics
from server.metrics.metric import exposed_name
from server.metrics.sources import Sources
from server.metrics.stats import Counters
from server.metrics.table import METRICS
from tests.server.scraping import scrape, value


def test_the_process_has_metrics() -> None:
    assert value(scrape(), "process_resident_memory_bytes") > 0


def test_every_row_of_the_table_is_exposed_under_its_name_once() -> None:
    names = [exposed_name(metric) for metric in METRICS]
    assert len(set(names)) == len(names)
    families = Metrics(Sources("1", State(), Counters(), lambda: 0, dict, lambda: True)).page().decode()
    assert all(f"# TYPE {name} " in families for name in names)
