"""Cuts between two instances and their cluster, under load: each kind of CUTS once in each round.

Run it with `python -m campaigns.cuts --rounds 5`. `campaigns.two_instances` has what must hold in the end. A
cut holds the frames, and passes them on when it ends, as a network does that repeats lost packets. In the
last step a row that an earlier active instance has sent arrives when all orders are carried out. After a
failure the logs of the instances and of Kafka are kept.
"""

import asyncio
import re
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

from campaigns.orders import SurvivalError
from campaigns.recording_proxy import Fault
from campaigns.two_instances import (
    SESSION,
    STATE_TOPIC,
    Say,
    TwoInstances,
    parser_of,
    repeated,
    rounds_within,
    run_campaign,
)
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tools.instances import Instance

HELD_SECONDS, LATE_SECONDS = 25.0, 35.0
"""How long after a take-over rows of the earlier active instance arrive. For 30 s the next one sends no other
rows."""
FAULT_SECONDS, POLLS = 30.0, 1000
"""Longest time until a fault has concerned something."""
DELAY = (1.0, 3.0)
LATE_ROWS = re.compile(r"^reassignd_late_rows_total ([0-9]+)", re.MULTILINE)


class Cuts(TwoInstances):
    """Cuts off the active instance."""

    async def run(self, rounds: Iterable[int], say: Say, names: Iterable[str]) -> None:
        """Do these kinds of cuts in each round. Raises SurvivalError."""
        for number in rounds:
            for name in names:
                await asyncio.sleep(self.rng.uniform(0.5, 2))
                active = await self.active()
                began = time.monotonic()
                await CUTS[name](self, active)
                await self.active()
                self.check()
                self.counts[f"cut: {name}"] += 1
                say(f"{number}, {name}: {time.monotonic() - began:.0f} s, {self.progress}")

    async def leader(self, active: Instance) -> None:
        """The active instance does not reach the leader of the state topic."""
        request = MetadataRequest([MetadataRequestTopic(name=STATE_TOPIC)])
        response = await repeated(lambda: self.client.ask(request))
        await self._until_taken_over(active, brokers=frozenset({response.topics[0].partitions[0].leader_id}))

    async def controller(self, active: Instance) -> None:
        """The active instance does not reach the broker to which it sends steps."""
        async with self._fault(Fault(frozenset({active.pid}), frozenset({self.proxy.steps_to}))):
            await asyncio.sleep(2 * SESSION)

    async def all_brokers(self, active: Instance) -> None:
        """The active instance reaches no broker."""
        await self._until_taken_over(active)

    async def both_instances(self, active: Instance) -> None:
        """No instance reaches a broker."""
        async with self._fault(Fault(frozenset({active.pid, self.other(active).pid}))):
            await asyncio.sleep(2 * SESSION)

    async def requests_only(self, active: Instance) -> None:
        """The requests of the active instance arrive, and it gets no answers."""
        await self._until_taken_over(active, requests=False)

    async def answers_only(self, active: Instance) -> None:
        """The active instance gets answers to earlier requests, and its own requests arrive after the cut."""
        await self._until_taken_over(active, answers=False)

    async def delayed(self, active: Instance) -> None:
        """Requests, or answers, or both take seconds."""
        requests, answers = self.rng.choice([(True, False), (False, True), (True, True)])
        fault = Fault(frozenset({active.pid}), requests=requests, answers=answers, delay=DELAY)
        async with self._fault(fault):
            await asyncio.sleep(3 * SESSION)

    async def answer_lost(self, active: Instance) -> None:
        """A commit is in the log; its acknowledgment is lost, and the connection is closed."""
        lost = self.proxy.answers_lost
        self.proxy.lose_answer(active.pid)
        await _until(lambda: self.proxy.answers_lost > lost)

    async def held_row(self, active: Instance) -> None:
        """Rows of steps arrive while the next instance waits for them."""
        async with self._held_step(active):
            await asyncio.sleep(HELD_SECONDS)

    async def late_row(self, active: Instance) -> None:
        """Rows of steps arrive when the next instance has sent others."""
        async with self._held_step(active):
            await asyncio.sleep(LATE_SECONDS)

    async def late_row_in_the_end(self) -> None:
        """Rows of steps arrive when there are no more orders."""
        async with self._held_step(await self.active()):
            began = time.monotonic()
            await self.end_orders()
            await asyncio.sleep(max(0, LATE_SECONDS - (time.monotonic() - began)))
        self.counts["cut: late row in the end"] += 1
        await asyncio.sleep(SESSION)

    async def count_late_rows(self) -> None:
        """Count the rows that the instances have recognized as late."""
        for instance in self.instances:
            text = await asyncio.to_thread(instance.text, "/metrics")
            if (found := LATE_ROWS.search(text)) is None:
                raise SurvivalError("an instance does not count late rows")
            self.counts["late rows recognized"] += int(found[1])

    async def _until_taken_over(
        self,
        active: Instance,
        *,
        brokers: frozenset[int] | None = None,
        requests: bool = True,
        answers: bool = True,
    ) -> None:
        async with self._fault(Fault(frozenset({active.pid}), brokers, requests, answers)):
            await self.wait_active(self.other(active))

    @asynccontextmanager
    async def _held_step(self, active: Instance) -> AsyncIterator[None]:
        """Hold steps of the active instance, which loses its term, until the end of the context."""
        steps = Fault(frozenset({active.pid}), answers=False, steps_only=True)
        async with self._fault(steps):
            await _until(lambda: steps.frames > 0)
            await self._until_taken_over(active)
            yield

    @asynccontextmanager
    async def _fault(self, fault: Fault) -> AsyncIterator[None]:
        self.proxy.begin(fault)
        try:
            yield
        finally:
            self.proxy.end(fault)
        self.counts["frames held or delayed"] += fault.frames


CUTS: dict[str, Callable[[Cuts, Instance], Awaitable[None]]] = {
    "leader of the state topic": Cuts.leader,
    "broker for steps": Cuts.controller,
    "all brokers": Cuts.all_brokers,
    "all brokers, both instances": Cuts.both_instances,
    "answers": Cuts.requests_only,
    "requests": Cuts.answers_only,
    "delay": Cuts.delayed,
    "answer lost": Cuts.answer_lost,
    "row after 25 s": Cuts.held_row,
    "row after 35 s": Cuts.late_row,
}
"""Kinds of cuts, by what is cut."""


async def _until(holds: Callable[[], bool]) -> None:
    for _ in range(POLLS):
        if holds():
            return
        await asyncio.sleep(FAULT_SECONDS / POLLS)
    raise SurvivalError("a fault has concerned nothing")


async def rounds_of(run: Cuts, rounds: Iterable[int], say: Say) -> None:
    """Run the rounds, and the late row in the end."""
    await run.run(rounds, say, CUTS)
    await run.late_row_in_the_end()
    await run.count_late_rows()


def main() -> int:
    """Run the command. Return 1 when something was lost."""
    options = parser_of("campaigns.cuts", __doc__, rounds=5).parse_args()
    rounds = rounds_within(options.rounds, options.minutes)
    return run_campaign(Cuts, options.seed, lambda run, say: rounds_of(run, rounds, say))


if __name__ == "__main__":
    sys.exit(main())
