from controller.state.state import State
from server.metrics.exposition import Metrics, MetricsWithoutCluster
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


def test_a_process_without_a_cluster_says_that_it_is_not_active_and_which_version_it_is() -> None:
    lines = MetricsWithoutCluster("1.2.3").page().decode().splitlines()
    assert "reassignd_active 0.0" in lines
    [build] = [line for line in lines if line.startswith("reassignd_build_info")]
    assert 'version="1.2.3"' in build
    assert any(line.startswith("process_start_time_seconds ") for line in lines)
