"""What people read."""

from datetime import UTC, datetime
from typing import Any

import pytest

from common.wording import counted
from reassignd.commands.output import (
    broker_lines,
    by,
    duration,
    job_lines,
    left_out_lines,
    reason_lines,
    when,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59, "59 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7_500, "2 h 5 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_time_of_another_day_has_its_date() -> None:
    today = when(int(datetime.now(UTC).timestamp() * 1000))
    assert (len(today), len(when(86_400_000))) == (len("05:25:26"), len("2026-11-21 05:25:26"))


def test_counts() -> None:
    assert [counted(number, "partition") for number in (0, 1, 2_000)] == [
        "0 partitions",
        "1 partition",
        "2,000 partitions",
    ]


def test_the_table_of_brokers_shows_the_copied_bytes() -> None:
    known = {"broker": 4, "bytes": 1024, "total": 4096, "rate": 512, "seconds_left": 6}
    unknown = {**known, "broker": 5, "rate": None, "seconds_left": None}
    assert list(broker_lines([known, unknown])) == [
        "TO BROKER  COPIED          RATE     LEFT",
        "        4  1 KiB of 4 KiB  512 B/s  6 s",
        "        5  1 KiB of 4 KiB",
    ]


def job(**more: Any) -> dict[str, Any]:
    fields: dict[str, Any] = dict.fromkeys(("undoes", "priority", "copied", "ended_ms", "throttle"))
    fields |= {"id": 1, "kind": "plan", "state": "running", "done": 7_500, "total": 100_000, "moving": 1_000}
    fields |= {"stalled": 0, "waiting": 0, "queued": 91_500, "created_ms": 0, "principal": "User:ann"}
    return fields | {"client_id": None, "endings": {"done": 7_500}, "limits": []} | more


COPIED = {"bytes": 0, "total": 2, "rate": 1, "seconds_left": 2}


def test_a_running_job_has_its_own_limits_beside_its_state() -> None:
    _, line = job_lines([job(priority=2, limits=[{"name": "P", "limit": 4, "used": 1}])])
    assert "running, priority 2, P=4" in line


def test_jobs_have_a_rate_where_one_is_known() -> None:
    assert "COPIED" not in next(job_lines([job()]))
    head, line = job_lines([job(copied=COPIED)])
    assert head.split()[3:7] == ["PROGRESS", "COPIED", "RATE", "LEFT"]
    assert "0 B of 2 B  1 B/s  2 s" in line


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_a_narrow_table_keeps_the_columns_of_progress(width: int) -> None:
    copied = {"bytes": 10**12, "total": 10**13, "rate": 10**8, "seconds_left": 7_500}
    head, line = job_lines([job(copied=copied)], width)
    assert max(len(head), len(line)) <= width
    assert {"JOB", "PROGRESS", "LEFT", "MOVING", "WAITING", "QUEUED"} <= set(head.split())
    assert {"7,500/100,000", "1,000", "91,500"} <= set(line.split())


def test_stalled_partitions_have_a_column_where_there_are_some() -> None:
    assert "STALLED" not in next(job_lines([job()]))
    head, line, _ = job_lines([job(stalled=3), job()])
    assert head.split()[4:6] == ["MOVING", "STALLED"]
    assert line.split()[4:6] == ["1,000", "3"]


def test_brokers_fit_a_narrow_terminal() -> None:
    row = {"broker": 4, "bytes": 1024, "total": 4096, "rate": 512, "seconds_left": 6}
    assert list(broker_lines([row], 30)) == ["TO BROKER  RATE     LEFT", "        4  512 B/s  6 s"]


def test_a_job_that_has_ended_shows_its_outcome() -> None:
    ended = job(state="ended", total=4, moving=0, queued=0, done=1, endings={"rolled back": 3, "done": 1})
    line = list(job_lines([ended]))[1]
    assert "3 rolled back, 1 done  1/4" in line
    assert "  done  " in list(job_lines([job(state="ended", endings={"done": 4})]))[1]


def test_a_job_that_has_ended_shows_how_long_it_took_and_nothing_that_moves() -> None:
    head, line = job_lines([job(state="ended", ended_ms=90_000, copied=COPIED, endings={"done": 4})])
    assert head.split()[3:7] == ["PROGRESS", "COPIED", "CREATED", "TOOK"]
    assert "1 min 30 s  ann" in line


def test_a_job_that_was_taken_back_or_is_held_is_not_called_done_or_running() -> None:
    undone = job(state="ended", endings={"done": 4}, outcome="rolled back", rolled_back_by=2)
    assert "  rolled back by job 2  " in list(job_lines([undone]))[1]
    assert "  held  " in list(job_lines([job(held="all reassignments are paused")]))[1]


def test_a_running_job_says_why_it_has_less_to_copy_than_before() -> None:
    gone = job(endings={"done": 7_500, "topic deleted": 1_200}, priority=2)
    assert "  running, priority 2, 1,200 of deleted topics  " in list(job_lines([gone]))[1]


def test_reasons_that_are_not_listed_are_counted() -> None:
    assert list(reason_lines([{"reason": "no", "partitions": 1_980}], 3)) == [
        "    1,980  no",
        "        3  other reasons",
    ]


def test_many_refusals_are_one_line_unless_all_are_wanted() -> None:
    rows = [{"topic": "foo", "partition": number, "message": "no"} for number in range(25)]
    assert list(left_out_lines("refused", rows, "message", verbose=False)) == [
        "refused: foo-0: no, and 24 more: --verbose lists them"
    ]
    assert len(list(left_out_lines("refused", rows, "message", verbose=True))) == 25
    assert list(left_out_lines("skipped", rows[:1], "message", verbose=False)) == ["skipped: foo-0: no"]
    assert list(left_out_lines("skipped", [], "message", verbose=False)) == []


@pytest.mark.parametrize(
    ("principal", "shown"),
    [
        ("User:ann", "ann"),
        ("Local:root", "Local:root"),
        ("unknown (GSSAPI from 10.0.0.9)", "unknown (GSSAPI from 10.0.0.9)"),
        ("User:Local:root", "User:Local:root"),
        ("User:unknown", "User:unknown"),
        ("User:User:ann", "User:User:ann"),
    ],
)
def test_no_principal_is_shown_like_another(principal: str, shown: str) -> None:
    assert by({"principal": principal, "client_id": None}) == shown
    assert by({"principal": principal, "client_id": "me"}) == f"{shown} (me)"


def test_a_browser_is_called_so_as_on_the_page() -> None:
    user_agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/150 Safari/537.36"
    assert by({"principal": "User:ann", "client_id": user_agent}) == "ann (browser)"
