from controller.configs.names import PACE
from controller.pace.effort import START
from controller.pace.readings import PaceMeasured, Probe, Source
from server.metrics.pace import PACE_METRICS
from tests.builders import InMemoryController
from tests.server.scraping import scrape, value


def measured() -> InMemoryController:
    controller = InMemoryController()
    controller.default(PACE, "auto")
    for at in range(10):
        controller.do(PaceMeasured(at, Source.CANARY, [Probe(1, (), [4.0] * 5)]))
    return controller


def test_latency_target_and_effort_are_shown_by_broker() -> None:
    samples = scrape(state=measured().state)
    assert value(samples, "reassignd_pace_on") == 1
    assert value(samples, "reassignd_pace_latency_seconds", broker="1") == 0.004
    assert value(samples, "reassignd_pace_target_seconds", broker="1") == 0.006
    assert value(samples, "reassignd_pace_effort", broker="1") == START
    assert value(samples, "reassignd_pace_problem") == 0


def test_without_pace_no_broker_is_shown() -> None:
    samples = scrape()
    assert value(samples, "reassignd_pace_on") == 0
    named = {name for name, labels in samples if "broker" in dict(labels)}
    assert not named & {metric.name for metric in PACE_METRICS}
