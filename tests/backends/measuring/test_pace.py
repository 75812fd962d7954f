from typing import Any

from backends.measuring.flows import FlowMeter
from backends.measuring.pace import PaceMeasurer, Taken
from common.clock import ManualClock
from common.tasks import cancel, spawn
from controller.model.configs import PACE
from controller.pace.readings import PaceMeasured, Probe, Source
from tests.builders import InMemoryController


class Rig:
    """Implements `Probes` and `KnownSizes`; `readings` are what was submitted."""

    def __init__(self) -> None:
        self.controller = InMemoryController()
        self.clock = ManualClock()
        self.running = self.closed = False
        self.readings: list[PaceMeasured] = []
        flows = FlowMeter(self.controller.state, self)
        self.measurer = PaceMeasurer(self, flows, self.controller.state, self.submit, self.clock)

    async def submit(self, event: Any) -> Any:
        self.readings.append(event)
        self.controller.do(event)

    async def run(self) -> None:
        self.running = True
        try:
            await self.clock.sleep(1e9)
        finally:
            self.running = False

    def take(self) -> Taken:
        return Taken(Source.CANARY, [Probe(1, (2,), [4.0])], "a problem")

    async def close(self) -> None:
        self.closed = True

    def size(self, key: object) -> int | None:
        return None

    def arrived(self, key: object, broker: int) -> int | None:
        return None


async def test_nothing_is_measured_while_pace_is_off() -> None:
    rig = Rig()
    task = spawn(rig.measurer.run(), "pace")
    await rig.clock.advance(5.0)
    assert not rig.running
    assert not rig.readings
    await cancel(task)


async def test_while_pace_is_on_a_reading_is_submitted_each_second() -> None:
    rig = Rig()
    rig.controller.default(PACE, "auto")
    task = spawn(rig.measurer.run(), "pace")
    await rig.clock.advance(3.0)
    assert rig.running
    assert [reading.at for reading in rig.readings] == [1.0, 2.0, 3.0]
    assert rig.readings[0].probes == [Probe(1, (2,), [4.0])]
    assert rig.controller.state.pace.pacer.problem == "a problem"
    await cancel(task)


async def test_switching_pace_off_stops_the_probes_and_the_end_closes_them() -> None:
    rig = Rig()
    rig.controller.default(PACE, "auto")
    task = spawn(rig.measurer.run(), "pace")
    await rig.clock.advance(2.0)
    rig.controller.default(PACE, "off")
    await rig.clock.advance(2.0)
    assert not rig.running
    assert not rig.closed
    await cancel(task)
    assert rig.closed
