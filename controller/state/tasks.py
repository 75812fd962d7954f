"""The user tasks of Cruise Control's API, in the order in which they ended."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from controller.model.tasks import KEPT_MS, MOST_DRY_RUNS, MOST_TASKS, DryRun, UserTask
from controller.state.most import first_of_most


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
            young.sort(key=lambda run: run.ended_ms)
            yield first_of_most(young, added.principal).asked

    def outdated(self, now_ms: int, ended_ms: Mapping[str, int], added: UserTask) -> Iterator[str]:
        """Yield the ids of tasks to drop for one that is added: the old ones, and one if there are too many.

        `ended_ms` has the end of each task's job, 0 for one that runs: its task stays. Tasks that execute
        nothing are dropped first, those of the principal that has the most: a client that polls proposals
        must not drive out the task of an execution, nor the proposals of others.
        """
        others = [task for task in self.results.values() if task.id != added.id]
        droppable = [task for task in others if ended_ms.get(task.id) != 0]
        old = {task.id for task in droppable if now_ms - ended_ms.get(task.id, task.started_ms) > KEPT_MS}
        yield from old
        left = sorted((task for task in droppable if task.id not in old), key=lambda task: task.started_ms)
        if left and len(others) - len(old) >= MOST_TASKS:
            idle = [task for task in left if not task.executes]
            yield first_of_most(idle, added.principal).id if idle else left[0].id
