"""The user tasks of Cruise Control's API, in the order in which they ended."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from controller.model.tasks import KEPT_MS, MOST_DRY_RUNS, MOST_TASKS, DryRun, UserTask


@dataclass(eq=False, slots=True)
class TaskState:
    """The tasks with a result."""

    results: dict[str, UserTask] = field(default_factory=dict)
    """By id."""
    dry_runs: dict[str, DryRun] = field(default_factory=dict)
    """By what was asked."""

    def put(self, record: UserTask) -> None:
        """Insert or replace a task."""
        self.results[record.id] = record

    def delete(self, task: str) -> None:
        """Remove a task."""
        del self.results[task]

    def put_run(self, record: DryRun) -> None:
        """Insert or replace a dry run."""
        self.dry_runs[record.asked] = record

    def delete_run(self, asked: str) -> None:
        """Remove a dry run."""
        del self.dry_runs[asked]

    def outdated_runs(self, now_ms: int, added: DryRun) -> Iterator[str]:
        """Yield which dry runs to drop for one that is added: the old ones, and one if there are too many.

        That is the oldest of the principal that has the most: no client drives out the plans of others.
        """
        others = [run for run in self.dry_runs.values() if run.asked != added.asked]
        young = [run for run in others if now_ms - run.ended_ms <= KEPT_MS]
        yield from (run.asked for run in others if now_ms - run.ended_ms > KEPT_MS)
        if len(young) >= MOST_DRY_RUNS:
            [(most, _)] = Counter(run.principal for run in [*young, added]).most_common(1)
            yield min((run for run in young if run.principal == most), key=lambda run: run.ended_ms).asked

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
