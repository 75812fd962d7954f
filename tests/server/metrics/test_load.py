from tests.builders import InMemoryController
from tests.server.api.resources.test_load import FixedLoad
from tests.server.scraping import scrape, value


def test_a_broker_has_the_rates_that_are_known() -> None:
    samples = scrape(InMemoryController().state, load=FixedLoad())
    name = "reassignd_broker_load_bytes_per_second"
    assert [value(samples, name, broker="1", kind=kind) for kind in ("in", "out", "replication")] == [
        30,
        10,
        5,
    ]
    assert value(samples, "reassignd_broker_load_coverage", broker="2") == 0
    assert value(samples, "reassignd_broker_load_cpu_ratio", broker="1") == 0.25
    assert len([each for each, _ in samples if each == name]) == 3


def test_there_are_no_samples_while_sampling_is_off() -> None:
    assert not [name for name, _ in scrape(InMemoryController().state) if "_load_" in name]
