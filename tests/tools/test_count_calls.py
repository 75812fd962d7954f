"""The way from socket to answer does not get longer."""

import subprocess
import sys

from tools.count_calls import Call, Calls, alter, limit

BOUNDS = {
    "45, one row": (28, 119),  # whether its job elects, and has limits; the size of each replica
    "46, all": (10, 26),
    "56, completes a step": (28, 96),  # whether its job elects, and its limits; the size of a copy; endings
    "44, a limit": (21, 70),  # `Limit.of`: the table of limits reads the fields, which jobs have too
}
"""Files, which a reader opens, and functions by request. A change that needs more states its reason here."""


def test_no_request_crosses_more_files_or_functions_than_stated() -> None:
    # In a process of its own: the profile hook of a coverage run would be replaced.
    command = [sys.executable, "-m", "tools.count_calls"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    taken = {line[:22].strip(): (int(line[22:].split()[0]), int(line[22:].split()[2])) for line in lines}
    assert taken.keys() == BOUNDS.keys()
    over = {
        request: counts
        for request, counts in taken.items()
        if any(count > bound for count, bound in zip(counts, BOUNDS[request], strict=True))
    }
    assert over == {}


def test_the_tree_indents_calls_and_marks_repeated_functions() -> None:
    outer, inner = alter.__code__, limit.__code__
    counted = Calls([Call(outer, 0), Call(inner, 1), Call(inner, 1)])
    lines = counted.tree().splitlines()
    assert [line.split("  tools/")[0] for line in lines] == ["alter", "  limit", "  limit"]
    assert [line.endswith(" *") for line in lines] == [False, False, True]
    assert counted.functions == 2
