import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from common.plan_errors import PlanError
from controller.model.limits import PlanLimits
from planner import handover
from planner.model.step_table import Move, Scheduler, schedule
from reassignd.workers.spark_worker import spark_at, work, worker

REQUEST = handover.head(PlanLimits(), 1, {1, 2}) + handover.rows([Move("a", 0, (1,), (2,), (1,), 1)]) + b"\n"


@contextmanager
def no_spark(url: str) -> Iterator[Scheduler]:
    yield schedule


@contextmanager
def broken(url: str) -> Iterator[Scheduler]:
    if url:
        raise PlanError(f"no Spark at {url}")
    yield schedule


def answer_of(text: str, spark: object = no_spark) -> list[bytes]:
    answers = io.StringIO()
    work("local", io.StringIO(text), answers, spark)  # type: ignore[arg-type]
    return [line.encode() for line in answers.getvalue().splitlines(keepends=True)]


def test_a_request_is_answered() -> None:
    forecast, steps = handover.read_answer(answer_of(REQUEST.decode()))
    assert (forecast["steps"], list(steps)) == (1, [[(0, (2,))]])


def test_one_session_answers_several_requests() -> None:
    opened = []

    @contextmanager
    def counting(url: str) -> Iterator[Scheduler]:
        opened.append(url)
        yield schedule

    answers = answer_of(REQUEST.decode() * 2, counting)
    assert (answers.count(handover.END), opened) == (2, ["local"])


@pytest.mark.parametrize(
    ("text", "spark", "reason"), [("[]\n", no_spark, "incomplete"), (None, broken, "no Spark at local")]
)
def test_an_error_is_the_answer(text: str | None, spark: object, reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        handover.read_answer(answer_of(REQUEST.decode() if text is None else text, spark))


@pytest.mark.parametrize(
    ("url", "where"), [("sc://there", {"remote": "sc://there"}), ("yarn", {"master": "yarn"})]
)
def test_spark_is_a_master_or_a_connect_server(
    url: str, where: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    @contextmanager
    def running(**options: str) -> Iterator[None]:
        asked.append(options)
        yield

    monkeypatch.setattr("reassignd.workers.spark_worker.running", running)
    with spark_at(url):
        assert asked == [where]


def test_it_ends_with_the_process_that_it_works_for() -> None:
    program = "from reassignd.workers.spark_worker import end_with; end_with(0)"
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, start_new_session=True)
    assert process.poll() is None
    process.communicate(timeout=60)
    assert process.returncode == -9


def test_as_a_process_it_answers_on_its_stdout_alone() -> None:
    process = subprocess.Popen(
        worker("sc://127.0.0.1:1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(REQUEST)
    process.stdin.flush()
    answer = process.stdout.read()
    process.wait(timeout=60)
    process.communicate()
    assert (process.returncode, b"error" in answer, answer.count(b"\n")) == (0, True, 2)
