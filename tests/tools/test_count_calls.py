"""The way from socket to answer does not get longer."""

import subprocess
import sys

BOUNDS = {"45, one row": 164, "46, all": 46, "56, completes a step": 153, "44, a limit": 110}
"""Functions by request. A change that needs more states its reason here."""


def test_no_request_takes_more_functions_than_stated() -> None:
    # In a process of its own: the profile hook of a coverage run would be replaced.
    command = [sys.executable, "-m", "tools.count_calls"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    taken = {line[:22].strip(): int(line[22:].split()[0]) for line in lines}
    assert taken.keys() == BOUNDS.keys()
    assert {request: count for request, count in taken.items() if count > BOUNDS[request]} == {}
