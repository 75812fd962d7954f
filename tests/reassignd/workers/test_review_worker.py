import io
import json
from typing import Any

from planner.model.snapshot import Snapshot, lines
from reassignd.workers.processes import END_OF_REQUEST
from reassignd.workers.review_worker import work
from tests.planner.proposals.builders import cluster


def request(*targets: list[int], **limits: int) -> bytes:
    """Return a request with these targets for the partitions of topic `foo`."""
    rows = [["foo", number, replicas] for number, replicas in enumerate(targets)]
    asked = {"targets": rows, "limits": limits, "bandwidth": 10, "rates": [], "elects": False}
    return json.dumps(asked).encode() + b"\n"


def answered(snapshot: Snapshot, *targets: list[int], **limits: int) -> Any:
    output = io.BytesIO()
    work(iter([request(*targets, **limits), *lines(snapshot), END_OF_REQUEST]), output)
    return json.loads(output.getvalue())


def test_the_answer_is_a_forecast_under_the_limits() -> None:
    answer = answered(cluster("---", (1, 2), (1, 2)), [3, 2], [3, 2], partitions=1)
    assert (answer["steps"], answer["waves"], answer["seconds"]) == (2, 2, 0.2)
    [_, _, third] = answer["brokers"]
    assert (third["before"]["replicas"], third["after"]["replicas"]) == (0, 2)


def test_a_partition_that_is_gone_is_named() -> None:
    answer = answered(cluster("---", (1, 2)), [3, 2], [3, 2])
    assert answer == {"error": "partition foo-1 of the plan is not in the snapshot"}
