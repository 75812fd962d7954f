"""The user tasks of Cruise Control's API, in the order in which they ended."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from controller.model.tasks import KEPT_MS, MOST_TASKS, UserTask


@dataclass(eq=False, slots=True)
class TaskState:
    """The tasks with a result."""

    results: dict[str, UserTask] = field(default_factory=dict)
    """By id."""

    def put(self, record: UserTask) -> None:
        """Insert or replace a task."""
        self.results[record.id] = record

    def delete(self, task: str) -> None:
        """Remove a task."""
        del self.results[task]

    def outdated(self, now_ms: int, ended_ms: Mapping[str, int]) -> Iterator[str]:
        """Yield the ids of the tasks to drop for one that is to be added: the old ones, and the oldest ones.

        `ended_ms` has the end of each task's job, 0 for one that runs: its task stays. Tasks that execute
        nothing are dropped first: a client that polls proposals must not drive out the task of an execution.
        """
        surplus = len(self.results) + 1 - MOST_TASKS
        droppable = [task for task in self.results.values() if ended_ms.get(task.id) != 0]
        first_to_drop = sorted(droppable, key=lambda task: (task.executes, task.started_ms))
        for place, task in enumerate(first_to_drop):
            if place < surplus or now_ms - ended_ms.get(task.id, task.started_ms) > KEPT_MS:
                yield task.id
