"""The way from socket to answer does not get longer."""

import subprocess
import sys

from tools.count_calls import Call, Calls, alter, limit

BOUNDS = {"45, one row": 92, "46, all": 26, "56, completes a step": 81, "44, a limit": 57}
"""Functions by request. A change that needs more states its reason here.

* Cancels in bulk compute the end of a step without a decision: two functions for 45, one for 56.
* `recorded_client_id` bounds what clients choose, and `is_stopped` is the one rule for what holds steps.
* A step asks for room in the throttle lists of its topic (`Backlog.throttle`, `_listed`), for the bytes of
  replicas that were not measured yet (`awaits_sizes`, `counted_size`), for what it `may_drop`, and for the
  plan of its partition (`StepPlans`).
* 45 has a deadline (`wall_clock`), and its reassignments may keep the topic's id (`topic_id`).
"""


def test_no_request_takes_more_functions_than_stated() -> None:
    # In a process of its own: the profile hook of a coverage run would be replaced.
    command = [sys.executable, "-m", "tools.count_calls"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    taken = {line[:22].strip(): int(line[22:].split()[0]) for line in lines}
    assert taken.keys() == BOUNDS.keys()
    assert {request: count for request, count in taken.items() if count > BOUNDS[request]} == {}


def test_the_tree_indents_calls_and_marks_repeated_functions() -> None:
    outer, inner = alter.__code__, limit.__code__
    counted = Calls([Call(outer, 0), Call(inner, 1), Call(inner, 1)])
    lines = counted.tree().splitlines()
    assert [line.split("  tools/")[0] for line in lines] == ["alter", "  limit", "  limit"]
    assert [line.endswith(" *") for line in lines] == [False, False, True]
    assert counted.functions == 2
