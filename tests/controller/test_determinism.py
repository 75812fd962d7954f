"""The core decides the same for the same events, whatever the hash seed of the process is."""

import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from random import Random

import pytest

from controller.gateway.events import Measured, Unreachable
from controller.messages.event import AnyEvent
from controller.messages.events import AlterReassignments, DeleteTopics, ElectionType, ElectLeaders, Stalled
from controller.messages.job_events import AlterRow, AlterTopic, Pause, Prioritize, Queue, RollBackJob
from tests.builders import InMemoryController, key, partition
from tests.controller.kraft import Gateway
from tests.examples import some

EVENTS = 60
NAMES = [f"{topic}-{number}" for topic in ("foo", "bar", "baz", "qux") for number in range(6)]
BROKERS = range(1, 9)


def random_rows(random: Random) -> list[AlterTopic]:
    names = random.sample(NAMES, 8)
    return [AlterTopic(key(name).topic, [AlterRow(key(name).partition, _target(random))]) for name in names]


def _target(random: Random) -> tuple[int, ...]:
    return tuple(random.sample(BROKERS, random.choice((1, 2, 3))))


def random_event(random: Random) -> AnyEvent:
    makers: list[Callable[[], AnyEvent]] = [
        lambda: AlterReassignments(random_rows(random), priority=random.randrange(3)),
        lambda: AlterReassignments([AlterTopic(random.choice(NAMES)[:3], None)]),
        lambda: Queue(random_rows(random), append=True),
        lambda: RollBackJob(random.randrange(1, 20)),
        lambda: Prioritize(random.randrange(1, 20), random.randrange(5)),
        lambda: Pause(random.randrange(1, 20), random.random() < 0.3),
        lambda: Stalled([key(name) for name in random.sample(NAMES, 4)]),
        lambda: Measured({key(name): random.randrange(1_000) for name in NAMES}, {}),
        lambda: ElectLeaders(ElectionType.PREFERRED, None),
    ]
    return random.choices(makers, [8, 1, 1, 1, 1, 1, 1, 1, 1])[0]()


def drive(controller: InMemoryController, random: Random) -> str:
    """Decide random events; return all that was recorded, requested and answered."""
    controller.with_limits(per_broker=2, per_partition=2)
    controller.default("reassignment.throttle.bytes.per.second", "1000")
    controller.default("reassignment.max.concurrent.bytes", "5000")
    replies = []
    for _ in range(EVENTS):
        replies.append(controller.decide(random_event(random)).reply)
        if isinstance(controller, Gateway):
            controller.deliver()
            for name in random.sample(NAMES, 12):
                controller.kafka.catch_up(key(name))
            controller.decide(controller.kafka.poll())
        else:
            for moving in random.sample(controller.in_flight(), len(controller.in_flight()) // 2):
                controller.isr(moving, controller[moving].replicas)
    return repr((controller.changes, controller.effects, replies))


def main() -> None:
    """Print a digest of what the cores of the direct modes and of a gateway decide."""
    direct = InMemoryController(BROKERS).with_partitions(*(partition(name, (1, 2, 3)) for name in NAMES))
    told = drive(direct, Random(1))
    direct.do(DeleteTopics(["foo", "bar"]))
    gateway = Gateway(*((name, (1, 2, 3)) for name in NAMES))
    told += drive(gateway, Random(2))
    gateway.do(Unreachable("connection refused"))
    gateway.kafka.brokers -= {2, 5, 7}
    for name in NAMES[:12]:
        gateway.kafka.delete(key(name))
    gateway.poll_for(11_000)
    told += repr((direct.changes, direct.effects, gateway.changes, gateway.effects))
    sys.stdout.write(sha256(told.encode()).hexdigest())


@pytest.mark.sampled
def test_decisions_do_not_depend_on_the_hash_seed() -> None:
    command = [sys.executable, "-m", __name__]
    running = [
        subprocess.Popen(command, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE)  # noqa: S603
        for seed in some(["0", "1", "2", "3", "4", "5"], "hash seeds", 2)
    ]
    digests = {process.communicate()[0] for process in running}
    assert all(process.returncode == 0 for process in running)
    assert len(digests) == 1


if __name__ == "__main__":
    main()
