"""The client's model covers what may happen between the requests of the client."""

import random
from typing import Any, cast

from campaigns.client import CampaignClient
from campaigns.cluster_model import ClusterModel
from campaigns.partition_model import Pending, PossibleState
from campaigns.random_requests import RandomRequests

A, C = (1, 2), (5, 6)
QUEUE_JOB, ROLLBACK_JOB = 1, 2


class StubClient:
    """Lists a queued target as pending, and ends it before it accepts the rollback of its job."""

    def job(self, number: int) -> Any:
        state, original = ("rolling back first", A) if number == QUEUE_JOB else ("moving", C)
        part = {"topic": "t", "partition": 0, "state": state, "original": original}
        return {"job": job_row(number), "partitions": [part]}

    def http(self, method: str, path: str, body: object = None, tag: str = "", **_: object) -> Any:
        return {"skipped": []} if method == "POST" else {"jobs": [job_row(ROLLBACK_JOB)]}


def job_row(number: int) -> dict[str, object]:
    return {"id": number, "client_id": "roll-back-1", "kind": "rollback", "undoes": None}


def test_a_queued_target_may_be_reached_before_its_rollback() -> None:
    model = ClusterModel()
    model.created("t", [A])
    model.partitions["t", 0].states = {PossibleState(A, A, Pending("queue-1", C))}
    model.jobs[QUEUE_JOB] = "queue-1"
    requests = RandomRequests(model, random.Random(1))
    requests.client = cast(CampaignClient, StubClient())
    requests.roll_back()
    assert model.partitions["t", 0].states == {PossibleState(C, A)}
