"""Random requests to a server that may be killed at any moment.

Each one is recorded in the client's model.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from campaigns.client import CampaignClient, NoAnswerError
from campaigns.cluster_model import LIMITS, ClusterModel, UnansweredRequest
from campaigns.partition_model import (
    Key,
    LostError,
    Replicas,
    Transition,
    cancel,
    order,
    queue,
    roll_back_job,
    withdraw,
)

BYTES = 100_000
WIDE, WIDE_PARTITIONS, WIDE_BYTES = "wide", 600, 3_000
"""A topic so large that the server decides its plans in several slices."""

MOST_TOPICS = 8
MOST_REPLICAS = 4


class RandomRequests:
    """One public method per kind of request. Errors: LostError, NoAnswerError, RefusedError."""

    def __init__(self, model: ClusterModel, rng: random.Random) -> None:
        self.client: CampaignClient
        """Client of the server that runs now."""
        self._books, self._rng = model, rng
        self._number = 0

    # ---- topics ---------------------------------------------------------------------------------------

    def create(self) -> None:
        """Create a topic; the wide one first."""
        if WIDE not in self._books.topics:
            self._create(WIDE, WIDE_PARTITIONS, WIDE_BYTES)
        elif len(self._books.topics) < MOST_TOPICS:
            self._create(self._name("topic"), self._rng.randint(2, 8), BYTES)

    def delete(self) -> None:
        """Delete a topic; some of its partitions may be moving."""
        names = [name for name in self._books.topics if name != WIDE]
        if len(names) < MOST_TOPICS // 2:
            return
        name = self._rng.choice(names)
        try:
            error = self.client.delete(name)
        except NoAnswerError:
            self._books.forget(name, acknowledged=False)
            raise
        if error:
            raise LostError(f"{name} cannot be deleted: error {error}")
        self._books.forget(name, acknowledged=True)

    def _create(self, name: str, partitions: int, size: int) -> None:
        factor = self._rng.randint(1, 3)
        assignment = [tuple(self._rng.sample(sorted(self.client.up), factor)) for _ in range(partitions)]
        try:
            error = self.client.create(name, assignment, size)
        except NoAnswerError:
            self._books.unanswered_creations[name] = assignment
            raise
        if error:
            raise LostError(f"{name} cannot be created: error {error}")
        self._books.created(name, assignment)

    # ---- plans ----------------------------------------------------------------------------------------

    def alter(self) -> None:
        """Submit a plan by AlterPartitionReassignments."""
        plan, tag = self._plan(), self._name("alter")
        transitions = {key: order(target) for key, target in plan.items()}
        with self._recorded_if_unanswered(UnansweredRequest(tag, transitions, {})):
            errors = self.client.alter(plan, tag)
        self._books.acknowledge(
            {key: transition for key, transition in transitions.items() if errors[key] == 0}, tag
        )
        self._note_job(tag)

    def execute(self) -> None:
        """Submit a plan over HTTP."""
        self._submit(self._plan(), self._name("execute"), order)

    def execute_queued(self) -> None:
        """Submit a queued plan over HTTP."""
        tag = self._name("queue")
        append = self._rng.random() < 0.7
        self._submit(self._plan(), tag, lambda target: queue(tag, target), queue=True, append=append)

    def cancel(self) -> None:
        """Cancel the reassignments of a few partitions, whether they move or not."""
        keys = self._keys()
        try:
            errors = self.client.alter(dict.fromkeys(keys), self._name("cancel"))
        except NoAnswerError:
            for key in keys:
                self._books.partitions[key].mark_unanswered(cancel, "cancel")
            raise
        self._books.acknowledge({key: cancel for key, error in errors.items() if error == 0}, "cancel")

    def roll_back(self) -> None:
        """Roll back a job, preferably a recent one."""
        number = self._job(self._rng.choice([3, 30]))
        if not number:
            return
        tag = self._name("roll-back")
        transitions, withdrawals = self._rollback_transitions(number)
        with self._recorded_if_unanswered(UnansweredRequest(tag, transitions, withdrawals)):
            answer = self.client.http("POST", f"/v1/jobs/{number}/rollback", tag=tag)
        skipped = {(row["topic"], row["partition"]) for row in answer["skipped"]}
        self._books.acknowledge(
            {
                key: withdrawals[key] if key in skipped else transition
                for key, transition in transitions.items()
            },
            f"{tag} of {self._books.jobs[number]}",
        )
        self._note_job(tag)

    def _submit(
        self,
        plan: Mapping[Key, Replicas],
        tag: str,
        transition: Callable[[Replicas], Transition],
        **options: object,
    ) -> None:
        if self._rng.random() < 0.3:
            options["throttle"] = self._rng.choice([200_000, 2_000_000])
        rows = [{"topic": key[0], "partition": key[1], "replicas": target} for key, target in plan.items()]
        transitions = {key: transition(target) for key, target in plan.items()}
        with self._recorded_if_unanswered(UnansweredRequest(tag, transitions, {})):
            answer = self.client.http("POST", "/v1/jobs", {"version": 1, "partitions": rows}, tag, **options)
        refused = {(row["topic"], row["partition"]) for row in answer["refused"]}
        self._books.acknowledge({key: each for key, each in transitions.items() if key not in refused}, tag)
        self._note_job(tag)

    def _rollback_transitions(self, number: int) -> tuple[dict[Key, Transition], dict[Key, Transition]]:
        """Return the transitions of the partitions that a rollback includes, and of those that it skips."""
        detail = self.client.job(number)
        undoes = detail["job"]["undoes"]
        undone = (
            {} if undoes is None else {key_of(part): part for part in self.client.job(undoes)["partitions"]}
        )
        tag = self._books.jobs[number]
        transitions, withdrawals = {}, {}
        for part in detail["partitions"]:
            key = key_of(part)
            if key in self._books.partitions:
                found = undone[key]["target"] if key in undone else part["original"]
                transitions[key], withdrawals[key] = roll_back_job(tag, tuple(found)), withdraw(tag)
        return transitions, withdrawals

    # ---- controls -------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Pause and resume the server."""
        self._set({"paused": True}, lambda: self.client.http("POST", "/v1/pause"))
        self._set({"paused": False}, lambda: self.client.http("POST", "/v1/resume"))

    def pause_job(self) -> None:
        """Pause or resume a job."""
        number = self._job(5)
        if number:
            verb = self._rng.choice(["pause", "resume", "resume"])
            self.client.http("POST", f"/v1/jobs/{number}/{verb}")

    def prioritize(self) -> None:
        """Change the priority of a job."""
        number = self._job(5)
        if number:
            self.client.http("POST", f"/v1/jobs/{number}/priority", {"priority": self._rng.randint(-5, 5)})

    def limits(self) -> None:
        """Change one or two limits, or the throttle."""
        changes: dict[str, object] = {}
        for name in self._rng.sample(LIMITS, self._rng.choice([1, 1, 2])):
            in_bytes = self._rng.choice([300_000, 3_000_000])
            in_replicas = self._rng.randint(1, 3 if name == "R" else 12)
            value = in_bytes if name in ("bytes", "throttle") else in_replicas
            changes[name] = self._rng.choice([None, value])
        self._set(changes, lambda: self.client.http("PUT", "/v1/limits", changes))

    def break_broker(self) -> None:
        """Start, slow down or stop a broker. At least half of the brokers stay up."""
        up = self.client.up
        number = self._rng.choice(list(self.client.all))
        if number not in up:
            self.client.http("POST", f"/v1/brokers/{number}/start")
            up.add(number)
        elif self._rng.random() < 0.3:
            factor = self._rng.choice([0, 0.3, 1, 1])
            self.client.http("POST", f"/v1/brokers/{number}/slow", {"factor": factor})
        elif len(up) > len(self.client.all) // 2:
            up.discard(number)
            self.client.http("POST", f"/v1/brokers/{number}/stop", controlled=self._rng.random() < 0.5)

    # ---- random choices -------------------------------------------------------------------------------

    def _name(self, kind: str) -> str:
        self._number += 1
        return f"{kind}-{self._number}"

    def _keys(self) -> list[Key]:
        keys = sorted(self._books.partitions)
        if self._rng.random() < 0.05:
            return [key for key in keys if key[0] == WIDE]
        narrow = [key for key in keys if key[0] != WIDE or key[1] < 5]
        return self._rng.sample(narrow, min(len(narrow), self._rng.randint(1, 12)))

    def _plan(self) -> dict[Key, Replicas]:
        brokers = self.client.all if self._rng.random() < 0.2 else self.client.up
        return {key: self._replicas(brokers) for key in self._keys()}

    def _replicas(self, brokers: range | set[int]) -> Replicas:
        count = self._rng.randint(1, min(MOST_REPLICAS, len(brokers)))
        return tuple(self._rng.sample(sorted(brokers), count))

    def _job(self, newest: int) -> int:
        numbers = sorted(self._books.jobs)[-newest:]
        return self._rng.choice(numbers) if numbers else 0

    @contextmanager
    def _recorded_if_unanswered(self, unanswered: UnansweredRequest) -> Iterator[None]:
        try:
            yield
        except NoAnswerError:
            self._books.unanswered = unanswered
            raise

    def _note_job(self, tag: str) -> None:
        """Record the job of an acknowledged request, if it has one."""
        with self._recorded_if_unanswered(UnansweredRequest(tag, {}, {})):
            newest = self.client.http("GET", "/v1/jobs", limit=1)["jobs"]
            if newest and newest[0]["client_id"] == tag:
                detail = self.client.job(newest[0]["id"])
                self._books.note(detail)

    def _set(self, values: Mapping[str, object], ask: Callable[[], Any]) -> None:
        registers = self._books.registers
        try:
            ask()
        except NoAnswerError:
            for name, value in values.items():
                registers[name].mark_unanswered(value)
            raise
        for name, value in values.items():
            registers[name].acknowledge(value)


def key_of(part: Mapping[str, Any]) -> Key:
    """Return the partition of an API row."""
    return part["topic"], part["partition"]
