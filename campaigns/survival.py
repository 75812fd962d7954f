"""Survival of instances that share a state topic.

The active one is killed, or suspended and resumed, under load.

Run it with `python -m campaigns.survival --rounds 100`. `campaigns.two_instances` has what must hold in the
end. With --without-lease the instances do not check their lease, and the campaign must fail. After a failure
the logs of the instances and of Kafka are kept.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Iterable

from campaigns.suspended_instance import WITHOUT_LEASE
from campaigns.two_instances import SESSION, Say, TwoInstances, parser_of, rounds_within, run_campaign
from tools.instances import Instance


class Survival(TwoInstances):
    """Kills and suspends the active instance."""

    async def run(self, rounds: Iterable[int], say: Say, kills: float = 0.5) -> None:
        """Run the rounds, of which a part are kills. Raises SurvivalError."""
        for number in rounds:
            await asyncio.sleep(self.rng.uniform(0.5, 3))
            await self._round(kill=self.rng.random() < kills)
            self.check()
            say(f"{number} rounds, {self.progress}")

    async def _round(self, *, kill: bool) -> None:
        active = await self.active()
        other = self.other(active)
        if kill:
            self.counts["kills"] += 1
            await asyncio.to_thread(active.kill)
            await self.wait_active(other)
            await self.start_instance(active)
        else:
            self.counts["suspensions"] += 1
            await self._suspend(active)
            await asyncio.sleep(self.rng.choice([0.5, 1.0, 1.3]) * SESSION)
            if self.rng.random() < 0.8:
                await self.wait_active(other)
            active.send(signal.SIGCONT)
        await self.active()

    async def _suspend(self, instance: Instance) -> None:
        """Suspend the process, mostly right before it sends steps (`campaigns.suspended_instance`)."""
        if self.rng.random() < 0.8:
            self.stop_file.touch()
            for _ in range(50):
                if not self.stop_file.exists():
                    return
                await asyncio.sleep(0.1)
            self.stop_file.unlink(missing_ok=True)
        instance.send(signal.SIGSTOP)


def main() -> int:
    """Run the command. Return 1 when something was lost."""
    parser = parser_of("campaigns.survival", __doc__, rounds=100)
    parser.add_argument(
        "--kills", type=float, default=0.5, help="part of the rounds; the others are suspensions"
    )
    parser.add_argument("--without-lease", action="store_true")
    options = parser.parse_args()
    rounds = rounds_within(options.rounds, options.minutes)
    os.environ[WITHOUT_LEASE] = "yes" if options.without_lease else "no"
    return run_campaign(Survival, options.seed, lambda run, say: run.run(rounds, say, options.kills))


if __name__ == "__main__":
    sys.exit(main())
