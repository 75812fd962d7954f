"""What is remembered of the life of jobs: rates and ended partitions over time, and what happened to all.

Nothing of it is stored: after a restart it starts over, and `since_ms` says when. Its size is bounded. A job
has at most `MOST_SAMPLES` samples, from its first byte on; a longer life has longer samples.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Set
from typing import NamedTuple

from controller.state.state import State
from controller.views.jobs import endings_of, held_reason

FIRST_SECONDS = 5.0
"""Length of the first samples of a job. Each time it has too many, two become one."""
MOST_SAMPLES = 240
MOST_JOBS = 100
"""Jobs that are remembered, with those that have ended."""
MOST_CHANGES = 500
"""Changes of brokers, and of what holds all jobs, that are remembered each."""


class JobSample(NamedTuple):
    """What a job did until `time_ms`."""

    time_ms: int
    seconds: float
    copied: int
    """Bytes in these seconds."""
    ended: int
    """Partitions that had ended at the end of the sample."""
    throttle: int | None
    """Bytes per second that applied at the end of the sample; None for no throttle."""


class BrokerChange(NamedTuple):
    """A broker stopped or started."""

    time_ms: int
    broker: int
    live: bool


class Hold(NamedTuple):
    """What kept all jobs from starting steps changed; `reason` is empty when they could start again."""

    time_ms: int
    reason: str


class JobSamples:
    """The samples of one job, the oldest first."""

    def __init__(self) -> None:
        self.samples: list[JobSample] = []
        self._length = FIRST_SECONDS

    def add(self, sample: JobSample) -> None:
        """Add a sample to the last one, or after it if that is long enough."""
        last = self.samples[-1] if self.samples else None
        if last is not None and last.seconds + sample.seconds / 2 < self._length:
            self.samples[-1] = _joined(last, sample)
            return
        self.samples.append(sample)
        if len(self.samples) > MOST_SAMPLES:
            self._length *= 2
            pairs = zip(self.samples[::2], self.samples[1::2], strict=False)
            rest = self.samples[len(self.samples) // 2 * 2 :]
            self.samples = [*(_joined(*pair) for pair in pairs), *rest]


def _joined(first: JobSample, second: JobSample) -> JobSample:
    return second._replace(seconds=first.seconds + second.seconds, copied=first.copied + second.copied)


class JobHistory:
    """Remembers the life of jobs from `look`, which sees changes, and `add`, which gets copied bytes."""

    def __init__(self, state: State, now_ms: Callable[[], int]) -> None:
        self._state, self._now_ms = state, now_ms
        self.since_ms: int | None = None
        """When `look` was called first."""
        self.brokers: deque[BrokerChange] = deque(maxlen=MOST_CHANGES)
        self.holds: deque[Hold] = deque(maxlen=MOST_CHANGES)
        self._live: Set[int] = frozenset()
        self._held = ""
        self._jobs: dict[int, JobSamples] = {}

    def look(self) -> None:
        """Remember which brokers have stopped or started, and what holds all jobs, since the last call."""
        live, now = self._state.cluster.live, self._now_ms()
        if self.since_ms is None:
            self.since_ms = now
        elif live != self._live:
            changed = sorted(live ^ self._live)
            self.brokers.extend(BrokerChange(now, each, each in live) for each in changed)
        if live != self._live:
            self._live = frozenset(live)
        # The audit log has the pauses, and who ordered them.
        held = "" if self._state.orders.paused else held_reason(self._state)
        if held != self._held:
            self._held = held
            self.holds.append(Hold(now, held))

    def add(self, seconds: float, copied: Mapping[int, int], throttle: int | None) -> None:
        """Add the bytes that each job copied in an interval.

        `throttle` is the one in force for what is copied between brokers.
        """
        now, disks = self._now_ms(), self._state.disks
        for job, size in copied.items():
            ended = sum(endings_of(self._state, job).values())
            # Thousands of jobs may be open that have not begun: there is nothing to remember of them.
            if size or ended or job in self._jobs:
                # Between log directories, each job has only its own.
                applies = disks.rates.get(job) if job in disks.stages else throttle
                self._jobs.setdefault(job, JobSamples()).add(JobSample(now, seconds, size, ended, applies))
        self._forget(self._jobs.keys() - copied.keys())

    def samples(self, job: int) -> list[JobSample]:
        """Return the samples of the job, the oldest first."""
        found = self._jobs.get(job)
        return [] if found is None else list(found.samples)

    def _forget(self, ended: Iterable[int]) -> None:
        """Forget deleted jobs, and the oldest of those that have ended if there are too many."""
        kept = sorted(job for job in ended if job in self._state.orders.jobs)
        room = max(0, MOST_JOBS - (len(self._jobs) - len(kept)))
        for job in set(ended) - set(kept[max(0, len(kept) - room) :]):
            del self._jobs[job]
