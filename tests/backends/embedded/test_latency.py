from random import Random

import pytest

from backends.embedded.latency import BASE_MS, EmbeddedProbes, LatencyModel
from common.clock import ManualClock
from common.tasks import cancel, spawn
from controller.pace.readings import Source


def loaded(rate: float, seconds: int = 20) -> LatencyModel:
    """Return a model whose broker 1 moves at this share of its network."""
    model = LatencyModel(1000.0)
    for tick in range(seconds * 20):
        model.tick(0.05, {1: tick * 0.05 * rate * 1000.0, 2: 0.0}, {})
    return model


def test_an_idle_broker_has_the_base_latency() -> None:
    assert loaded(0.0).mean_ms(1, 2) == BASE_MS


def test_a_busier_broker_answers_later_and_delays_its_leaders() -> None:
    model = loaded(0.5)
    assert model.mean_ms(1) == pytest.approx(2 * BASE_MS, rel=0.05)
    assert model.mean_ms(2, 1) == model.mean_ms(1)
    assert model.mean_ms(2) == BASE_MS


def test_a_saturated_broker_has_a_finite_latency() -> None:
    assert loaded(50.0).mean_ms(1) == pytest.approx(50 * BASE_MS)


def test_producers_use_the_network_too() -> None:
    model = LatencyModel(1000.0)
    for _ in range(400):
        model.tick(0.05, {1: 0.0}, {1: 500.0})
    assert model.mean_ms(1) == pytest.approx(2 * BASE_MS, rel=0.05)


def test_without_time_nothing_changes() -> None:
    model = loaded(0.5)
    before = model.mean_ms(1)
    model.tick(0.0, {1: 1e9}, {})
    assert model.mean_ms(1) == before


async def test_each_running_broker_is_probed_five_times_a_second_with_noise() -> None:
    clock = ManualClock()
    probes = EmbeddedProbes(loaded(0.0), lambda: [1, 2, 3], clock, Random(1))
    task = spawn(probes.run(), "probes")
    await clock.advance(2.0)
    taken = probes.take()
    assert taken.source is Source.CANARY
    assert [(probe.leader, tuple(probe.followers)) for probe in taken.probes] == [
        (1, (2,)),
        (2, (3,)),
        (3, (1,)),
    ]
    assert len(set(taken.probes[0].latencies)) == 10
    assert not probes.take().probes[0].latencies
    await cancel(task)
    await probes.close()
