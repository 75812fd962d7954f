"""Results of user tasks: how many are kept, and for how long."""

from controller.machine import decide
from controller.messages.event import Requester
from controller.messages.task_events import TaskEnded
from controller.model.tasks import KEPT_MS, MOST_DRY_RUNS, MOST_TASKS, DryRun, UserTask, job_client_id
from controller.modes import EMBEDDED
from controller.state.state import Decision, State
from tests.builders import InMemoryController, partition


def task(number: int, started_ms: int = 0) -> UserTask:
    return UserTask(
        str(number), started_ms or number, "rebalance", "POST /x", "ip", "User:a", False, False, ""
    )


def end(state: State, ended: UserTask, now_ms: int = 1_000) -> Decision:
    decision = Decision(state, now_ms)
    for _ in decide(decision, TaskEnded(ended)):
        pass
    return decision


def test_the_oldest_result_gives_way_to_a_new_one() -> None:
    state = State(EMBEDDED)
    for number in range(1, MOST_TASKS + 3):
        end(state, task(number))
    assert list(state.tasks.results) == [str(number) for number in range(3, MOST_TASKS + 3)]


def test_a_result_is_dropped_after_a_day() -> None:
    state = State(EMBEDDED)
    end(state, task(1))
    decision = end(state, task(2, KEPT_MS), now_ms=KEPT_MS + 2)
    assert list(state.tasks.results) == ["2"]
    assert [type(change).__name__ for change in decision.changes] == ["Deleted", "UserTask"]


def test_the_task_of_a_job_is_kept_for_a_day_after_its_end() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2, 3]))
    controller.do(TaskEnded(task(1)._replace(executes=True)))
    controller.alter({"foo-0": (4, 2, 3)}, requester=Requester("User:a", job_client_id("1")))
    for kept in (True, False):
        controller.now_ms += KEPT_MS + 1
        controller.do(TaskEnded(task(2, controller.now_ms)))
        assert ("1" in controller.state.tasks.results) is kept
        controller.settle()


def test_tasks_that_execute_nothing_give_way_first() -> None:
    """A client that polls proposals does not drive out the task of an execution."""
    state = State(EMBEDDED)
    end(state, task(1)._replace(executes=True))
    for number in range(2, MOST_TASKS + 5):
        end(state, task(number))
    assert "1" in state.tasks.results
    assert len(state.tasks.results) == MOST_TASKS


def test_the_client_with_the_most_tasks_loses_its_oldest_one() -> None:
    state = State(EMBEDDED)
    for number in range(1, MOST_TASKS + 5):
        end(state, task(number)._replace(principal="User:a" if number < 3 else "User:b"))
    assert {"1", "2", str(MOST_TASKS + 4)} <= state.tasks.results.keys()
    assert not {"3", "4", "5", "6"} & state.tasks.results.keys()


def show(state: State, asked: str, principal: str = "User:a", ended_ms: int = 1) -> None:
    run = DryRun(asked, principal, 7, ended_ms, "")
    for _ in decide(Decision(state, ended_ms), TaskEnded(task(1, ended_ms), run)):
        pass


def test_a_dry_run_replaces_that_of_the_same_request() -> None:
    state = State(EMBEDDED)
    for ended_ms in (1, 2):
        show(state, "x", ended_ms=ended_ms)
    assert state.tasks.dry_runs == {"x": DryRun("x", "User:a", 7, 2, "")}


def test_a_dry_run_is_dropped_after_a_day() -> None:
    state = State(EMBEDDED)
    for ended_ms in (1, KEPT_MS + 2):
        show(state, str(ended_ms), ended_ms=ended_ms)
    assert list(state.tasks.dry_runs) == [str(KEPT_MS + 2)]


def test_the_client_with_the_most_dry_runs_loses_its_oldest_one() -> None:
    state = State(EMBEDDED)
    show(state, "first", "User:b")
    for number in range(2, MOST_DRY_RUNS + 5):
        show(state, str(number), ended_ms=number)
    assert len(state.tasks.dry_runs) == MOST_DRY_RUNS
    assert {"first", str(MOST_DRY_RUNS + 4)} <= state.tasks.dry_runs.keys()
    assert not {"2", "3", "4"} & state.tasks.dry_runs.keys()


def test_each_of_many_clients_may_show_a_plan() -> None:
    state = State(EMBEDDED)
    for number in range(1, MOST_DRY_RUNS + 3):
        show(state, str(number), f"User:{number}", number)
    assert list(state.tasks.dry_runs) == [str(number) for number in range(3, MOST_DRY_RUNS + 3)]
