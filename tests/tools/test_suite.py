import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tools.parts import FOLDERS, REAL, SUITES, WITH_PROPERTIES, Part
from tools.suite import ROOT, Suite
from tools.waiting import wait_until


def says(name: str, text: str, code: int = 0, needs: tuple[str, ...] = ()) -> Part:
    return Part(name, f"python -c 'import sys; print(\"{text}\"); sys.exit({code})'", needs)


def meets(folder: Path, own: str, other: str) -> str:
    return f"sh -c ': > {folder / own}; until test -e {folder / other}; do sleep 0.1; done'"


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.suite.LOGS", tmp_path)


def test_each_part_gets_a_line_and_the_tests_are_counted(capfd: pytest.CaptureFixture[str]) -> None:
    assert Suite([says("one", "3 passed, 1 skipped in 2s"), says("two", "4 passed in 1s")], 2).run()
    lines = capfd.readouterr().out.splitlines()
    assert sorted(line.split()[6] for line in lines[:2]) == ["one", "two"]
    assert lines[-1] == "7 passed, 0 failed, 1 skipped"


def test_each_part_has_its_own_processor_time(capfd: pytest.CaptureFixture[str]) -> None:
    busy = "import time; exec('while time.process_time() < 1.2: pass')"
    parts = [Part("busy", f'python -c "{busy}"'), Part("waits", "sh -c 'sleep 0.1'")]
    assert Suite(parts, 2).run()
    used = {line.split()[6]: int(line.split()[3]) for line in capfd.readouterr().out.splitlines()[:2]}
    assert used["busy"] > used["waits"]


def test_the_output_of_a_part_that_fails_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    assert not Suite([says("one", "the reason", 1)], 1).run()
    assert "\nthe reason\n" in capfd.readouterr().out


def test_a_part_does_not_run_without_what_it_needs(capfd: pytest.CaptureFixture[str]) -> None:
    parts = [says("two", "no", needs=("one",)), says("one", "1 failed", 1), says("three", "yes")]
    assert not Suite(parts, 2).run()
    assert "not run        two: it needs one" in capfd.readouterr().out


def test_a_part_that_waits_runs_beside_one_for_each_lane(tmp_path: Path) -> None:
    computes, waits = meets(tmp_path, "a", "b"), meets(tmp_path, "b", "a")
    assert Suite([Part("computes", computes), Part("waits", waits, waits=True)], 1, beside=1).run()


def test_two_parts_that_compute_run_one_after_the_other_on_one_lane(tmp_path: Path) -> None:
    alone = f"sh -c 'mkdir {tmp_path}/alone && sleep 0.3 && rmdir {tmp_path}/alone'"
    assert Suite([Part("one", alone), Part("two", alone)], 1, beside=1).run()


def test_parts_with_real_brokers_run_one_at_a_time_beside_parts_that_compute(tmp_path: Path) -> None:
    alone = f"sh -c 'mkdir {tmp_path}/alone && sleep 0.3 && rmdir {tmp_path}/alone'"
    real = [Part("one", alone, real=True), Part("two", alone, real=True)]
    assert Suite([*real, says("three", "computed"), Part("four", "sleep 1")], 2).run()


def test_real_brokers_have_cores_of_their_own(tmp_path: Path) -> None:
    count = "python -c 'import os; print(len(os.sched_getaffinity(0)))'"
    parts = [Part("real", "sleep 1", real=True), Part("beside", count), Part("after", count, ("real",))]
    own = os.sched_getaffinity(0)
    assert Suite(parts, 2).run()
    beside, after = (int((tmp_path / f"{name}.log").read_text()) for name in ("beside", "after"))
    assert (beside, after) == (len(own) - len(own) // 2, len(own))
    assert os.sched_getaffinity(0) == own


def test_the_last_parts_with_real_brokers_share_the_lanes(tmp_path: Path) -> None:
    one, two = meets(tmp_path, "a", "b"), meets(tmp_path, "b", "a")
    assert Suite([Part("one", one, real=True), Part("two", two, real=True)], 2).run()


def test_a_signal_ends_all_parts(tmp_path: Path) -> None:
    started = tmp_path / "started"
    waiting = f"sh -c 'echo the last words; : > {started}; exec sleep 600'"
    program = "from tools import suite, parts; import sys; "
    program += f"suite.SUITES['unit'] = [parts.Part('waits', {waiting!r})]; sys.exit(suite.main())"
    command, piped = [sys.executable, "-c", program, "unit"], subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, stdout=piped, stderr=piped, text=True)
    wait_until(started.exists, lambda: "the part")
    os.kill(process.pid, signal.SIGTERM)
    output, errors = process.communicate()
    assert errors == "interrupted\n"
    assert process.returncode == 130
    assert re.match(r"interrupted in waits \(\d+ s\)\n----- waits: sh .*\nthe last words\n", output)


def test_a_part_that_runs_too_long_is_interrupted_and_has_failed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    waits = Part("waits", "sh -c 'trap \"echo why; exit 0\" INT; sleep 600 & echo $!; wait'")
    assert not Suite([waits, says("after", "1 passed")], 1, limit=5).run()
    output = capfd.readouterr().out
    assert "\nwhy\n" in output
    assert "waits was interrupted: it ran longer than 5 s" in output
    assert "1 passed, 0 failed" in output
    started = Path("/proc", (tmp_path / "waits.log").read_text().split()[0])
    wait_until(lambda: not started.exists(), lambda: "the end of what the part had started")


def test_each_folder_of_tests_is_in_a_part() -> None:
    covered = {path for paths in (*FOLDERS.values(), *REAL) for path in paths.split()}
    folders = {f"tests/{path.parent.name}" for path in ROOT.glob("tests/*/__init__.py")}
    files = {f"tests/{path.name}" for path in ROOT.glob("tests/test_*.py")}
    assert covered == folders | files


def test_tests_with_examples_run_all_of_them_in_a_part() -> None:
    folders = {path for name in WITH_PROPERTIES for path in FOLDERS[name].split()}
    selected = re.compile("^(@given|@pytest.mark.sampled|class .*RuleBasedStateMachine)", re.MULTILINE)
    for path in ROOT.glob("tests/**/test_*.py"):
        text = path.read_text("utf-8")
        if "\n@given" in text or "\nfrom tests.examples import" in text:
            assert "/".join(path.relative_to(ROOT).parts[:2]) in folders
            assert selected.search(text), path


def test_a_part_needs_only_parts_above_it() -> None:
    for suite in SUITES.values():
        names = [part.name for part in suite]
        assert len({*names}) == len(names)
        for place, part in enumerate(suite):
            assert {*part.needs} <= {*names[:place]}
