"""Survival of instances that share a state topic: the active one is killed, or suspended and resumed, under load.

Run it with `python -m campaigns.survival --rounds 100`. `campaigns.two_instances` has what must hold in the end.
With --without-lease the instances do not check their lease, and the campaign must fail. After a failure the logs of
the instances and of Kafka are kept.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from campaigns.recording_proxy import RecordingProxy
from campaigns.suspended_instance import STOP_FILE, WITHOUT_LEASE
from campaigns.two_instances import SESSION, Say, TwoInstances, parser_of, run_campaign
from tools.instances import Instance
from tools.kafka_cluster import KafkaCluster


class Survival(TwoInstances):
    """Kills and suspends the active instance."""

    def __init__(self, kafka: KafkaCluster, proxy: RecordingProxy, folder: Path, seed: int) -> None:
        super().__init__(kafka, proxy, folder, seed)
        self._stop_file = folder / "stop"
        os.environ[STOP_FILE] = str(self._stop_file)
        for instance in self.instances:
            instance.use_module("campaigns.suspended_instance")

    async def run(self, rounds: int, say: Say, kills: float = 0.5) -> None:
        """Run the rounds, of which a part are kills. Raises SurvivalError."""
        for number in range(1, rounds + 1):
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
            self._stop_file.touch()
            for _ in range(50):
                if not self._stop_file.exists():
                    return
                await asyncio.sleep(0.1)
            self._stop_file.unlink(missing_ok=True)
        instance.send(signal.SIGSTOP)


def main() -> int:
    """Run the command. Return 1 when something was lost."""
    parser = parser_of("campaigns.survival", __doc__, rounds=100)
    parser.add_argument(
        "--kills", type=float, default=0.5, help="part of the rounds; the others are suspensions"
    )
    parser.add_argument("--without-lease", action="store_true")
    options = parser.parse_args()
    os.environ[WITHOUT_LEASE] = "yes" if options.without_lease else "no"
    return run_campaign(Survival, options.seed, lambda run, say: run.run(options.rounds, say, options.kills))


if __name__ == "__main__":
    sys.exit(main())
