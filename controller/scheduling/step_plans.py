"""Steps that a planner has computed in advance, and how they compare with the steps that begin (KIP-435).

The step rule of the core decides every step at the moment when it begins. A planned step sets the order, and
counts as the `same` if the rule gives its replica list.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from controller.model.jobs import PlannedStep
from controller.model.replicas import Replicas, TopicPartition


class StepCounts(NamedTuple):
    """Steps of planned partitions that have begun, since the start of the process."""

    same: int = 0
    """Those for which the step rule gave the planned list."""
    differs: int = 0
    """Those for which it gave another list, which was used: a broker, the ISR or limit R had changed."""
    replanned: int = 0
    """Those after a step that differed or was turned: the core plans the rest of such a partition."""


class StepPlans:
    """The planned steps of each partition that have not begun. They end with its reassignment or target."""

    def __init__(self) -> None:
        self.counts = StepCounts()
        self._steps: dict[TopicPartition, Sequence[PlannedStep]] = {}
        """Empty for a partition that left its plan, which is counted as replanned."""

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._steps)

    def put(self, key: TopicPartition, steps: Sequence[PlannedStep]) -> None:
        """Set the steps of the partition, without the one in flight."""
        self._steps[key] = steps

    def steps_of(self, key: TopicPartition) -> Sequence[PlannedStep]:
        """Return the partition's steps that have not begun."""
        return self._steps.get(key, ())

    def wave_of(self, key: TopicPartition) -> int | None:
        """Return the wave of the partition's next step; None if no plan gives one."""
        steps = self._steps.get(key)
        return steps[0].wave if steps else None

    def begun(self, key: TopicPartition, replicas: Replicas) -> None:
        """Count a step that begins, and advance the plan. A step that differs ends it."""
        steps = self._steps.get(key)
        if steps is None:
            return
        same, differs, replanned = self.counts
        if not steps:
            self.counts = StepCounts(same, differs, replanned + 1)
        elif steps[0].replicas == replicas:
            self.counts = StepCounts(same + 1, differs, replanned)
            self._steps[key] = steps[1:]
            if len(steps) == 1:
                del self._steps[key]
        else:
            self.counts = StepCounts(same, differs + 1, replanned)
            self._steps[key] = ()

    def turned(self, key: TopicPartition) -> None:
        """End the plan of a partition whose step in flight was turned to another list."""
        if key in self._steps:
            self._steps[key] = ()

    def discard(self, key: TopicPartition) -> None:
        """Forget the partition's steps."""
        self._steps.pop(key, None)
