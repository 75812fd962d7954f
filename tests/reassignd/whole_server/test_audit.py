"""The audit log of a server contains all acknowledged requests, also after a crash."""

import json
import urllib.request
from typing import Any

import pytest

from tests.reassignd.served import PATIENCE_SECONDS, Served, Start

pytestmark = pytest.mark.whole

REQUESTS = 20


def change(served: Served, number: int) -> None:
    """Set limit P to the number, and return when the server has acknowledged it."""
    place = served.line.partition("http http://")[2].partition(",")[0]
    body = json.dumps({"P": number}).encode()
    request = urllib.request.Request(f"http://{place}/v1/limits", body, method="PUT")
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        assert answer.status == 200


def entries(served: Served) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(served.get("/v1/audit"))["entries"]
    return found


def test_acknowledged_requests_are_in_the_log_after_a_crash(start: Start) -> None:
    served = start()
    for number in range(1, REQUESTS + 1):
        change(served, number)
    served.process.kill()
    served.process.communicate()
    found = entries(start())
    [config] = found[0]["detail"]["configs"]
    assert [entry["detail"]["configs"][config] for entry in found] == [str(n) for n in range(REQUESTS, 0, -1)]
    assert [entry["id"] for entry in found] == list(range(REQUESTS, 0, -1))


def test_ids_continue_after_a_restart(start: Start) -> None:
    served = start()
    change(served, 1)
    served.process.terminate()
    served.process.communicate(timeout=PATIENCE_SECONDS)
    again = start()
    change(again, 2)
    assert [entry["id"] for entry in entries(again)] == [2, 1]
