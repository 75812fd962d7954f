"""Random requests of one client to a server that may die at any moment, each entered in the client's books."""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bench.asking import Asking, GoneError
from bench.books import LIMITS, PENDING, Books, Doubt
from bench.ledger import Deed, Key, LostError, Replicas, cancel, order, queue, take_back, withdraw

BYTES = 100_000
WIDE, WIDE_PARTITIONS, WIDE_BYTES = "wide", 600, 3_000
"""A topic whose plans are decided in more than one slice."""

MOST_TOPICS = 8
MOST_REPLICAS = 4


class Chaos:
    """One public method a request, called at random. Errors: LostError, GoneError, RefusedError."""

    def __init__(self, books: Books, rng: random.Random) -> None:
        self.asking: Asking
        """The server that lives now."""
        self._books, self._rng = books, rng
        self._number = 0

    # ---- topics ---------------------------------------------------------------------------------------------

    def create(self) -> None:
        """A topic; the wide one first."""
        if WIDE not in self._books.topics:
            self._create(WIDE, WIDE_PARTITIONS, WIDE_BYTES)
        elif len(self._books.topics) < MOST_TOPICS:
            self._create(self._name("topic"), self._rng.randint(2, 8), BYTES)

    def delete(self) -> None:
        """A topic, some of whose partitions may move."""
        names = [name for name in self._books.topics if name != WIDE]
        if len(names) < MOST_TOPICS // 2:
            return
        name = self._rng.choice(names)
        try:
            error = self.asking.delete(name)
        except GoneError:
            self._books.forget(name, acknowledged=False)
            raise
        if error:
            raise LostError(f"{name} cannot be deleted: error {error}")
        self._books.forget(name, acknowledged=True)

    def _create(self, name: str, partitions: int, size: int) -> None:
        factor = self._rng.randint(1, 3)
        assignment = [tuple(self._rng.sample(sorted(self.asking.up), factor)) for _ in range(partitions)]
        try:
            error = self.asking.create(name, assignment, size)
        except GoneError:
            self._books.doubtful_topics[name] = assignment
            raise
        if error:
            raise LostError(f"{name} cannot be created: error {error}")
        self._books.created(name, assignment)

    # ---- orders ---------------------------------------------------------------------------------------------

    def alter(self) -> None:
        """A plan in the protocol of the stock tools."""
        plan, tag = self._plan(), self._name("alter")
        deeds = {key: order(target) for key, target in plan.items()}
        with self._in_doubt(Doubt(tag, deeds, {})):
            errors = self.asking.alter(plan, tag)
        self._books.did({key: deed for key, deed in deeds.items() if errors[key] == 0}, tag)
        self._note_job(tag)

    def execute(self) -> None:
        """A plan over HTTP."""
        self._submit(self._plan(), self._name("execute"), order)

    def execute_queued(self) -> None:
        """A plan behind what runs."""
        tag = self._name("queue")
        append = self._rng.random() < 0.7
        self._submit(self._plan(), tag, lambda target: queue(tag, target), queue=True, append=append)

    def cancel(self) -> None:
        """A few partitions, moving or not."""
        keys = self._keys()
        try:
            errors = self.asking.alter(dict.fromkeys(keys), self._name("cancel"))
        except GoneError:
            for key in keys:
                self._books.places[key].may_have_done(cancel, "cancel")
            raise
        self._books.did({key: cancel for key, error in errors.items() if error == 0}, "cancel")

    def roll_back(self) -> None:
        """A whole job, more often a young one."""
        number = self._job(self._rng.choice([3, 30]))
        if not number:
            return
        tag = self._name("roll-back")
        deeds, withdrawals = self._taking_back(number)
        with self._in_doubt(Doubt(tag, deeds, withdrawals)):
            answer = self.asking.http("POST", f"/v1/jobs/{number}/rollback", tag=tag)
        skipped = {(row["topic"], row["partition"]) for row in answer["skipped"]}
        self._books.did(
            {key: withdrawals[key] if key in skipped else deed for key, deed in deeds.items()},
            f"{tag} of {self._books.jobs[number]}",
        )
        self._note_job(tag)

    def _submit(
        self, plan: Mapping[Key, Replicas], tag: str, deed: Callable[[Replicas], Deed], **options: object
    ) -> None:
        if self._rng.random() < 0.3:
            options["throttle"] = self._rng.choice([200_000, 2_000_000])
        rows = [{"topic": key[0], "partition": key[1], "replicas": target} for key, target in plan.items()]
        deeds = {key: deed(target) for key, target in plan.items()}
        with self._in_doubt(Doubt(tag, deeds, {})):
            answer = self.asking.http("POST", "/v1/jobs", {"version": 1, "partitions": rows}, tag, **options)
        refused = {(row["topic"], row["partition"]) for row in answer["refused"]}
        self._books.did({key: each for key, each in deeds.items() if key not in refused}, tag)
        self._note_job(tag)

    def _taking_back(self, number: int) -> tuple[dict[Key, Deed], dict[Key, Deed]]:
        """What a roll-back does to partitions that it takes on, and to the others of the job."""
        detail = self.asking.job(number)
        undoes = detail["job"]["undoes"]
        undone = (
            {} if undoes is None else {key_of(part): part for part in self.asking.job(undoes)["partitions"]}
        )
        tag = self._books.jobs[number]
        deeds, withdrawals = {}, {}
        for part in detail["partitions"]:
            key = key_of(part)
            if key in self._books.places:
                found = undone[key]["target"] if key in undone else part["original"]
                known = None if part["state"] == PENDING else tuple(found)
                deeds[key], withdrawals[key] = take_back(tag, known), withdraw(tag)
        return deeds, withdrawals

    # ---- steering -------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Everything, for a moment."""
        self._set({"paused": True}, lambda: self.asking.http("POST", "/v1/pause"))
        self._set({"paused": False}, lambda: self.asking.http("POST", "/v1/resume"))

    def pause_job(self) -> None:
        """A job, or let it go on."""
        number = self._job(5)
        if number:
            verb = self._rng.choice(["pause", "resume", "resume"])
            self.asking.http("POST", f"/v1/jobs/{number}/{verb}")

    def prioritize(self) -> None:
        """A job."""
        number = self._job(5)
        if number:
            self.asking.http("POST", f"/v1/jobs/{number}/priority", {"priority": self._rng.randint(-5, 5)})

    def limits(self) -> None:
        """One or two of them, or the throttle."""
        changes: dict[str, object] = {}
        for name in self._rng.sample(LIMITS, self._rng.choice([1, 1, 2])):
            rate = self._rng.choice([300_000, 3_000_000])
            value = rate if name == "throttle" else self._rng.randint(1, 3 if name == "R" else 12)
            changes[name] = self._rng.choice([None, value])
        self._set(changes, lambda: self.asking.http("PUT", "/v1/limits", changes))

    def break_broker(self) -> None:
        """Start, slow or stop one; half of them stay up."""
        up = self.asking.up
        number = self._rng.choice(list(self.asking.all))
        if number not in up:
            self.asking.http("POST", f"/v1/brokers/{number}/start")
            up.add(number)
        elif self._rng.random() < 0.3:
            factor = self._rng.choice([0, 0.3, 1, 1])
            self.asking.http("POST", f"/v1/brokers/{number}/slow", {"factor": factor})
        elif len(up) > len(self.asking.all) // 2:
            up.discard(number)
            self.asking.http("POST", f"/v1/brokers/{number}/stop", controlled=self._rng.random() < 0.5)

    # ---- chance, and books ----------------------------------------------------------------------------------

    def _name(self, kind: str) -> str:
        self._number += 1
        return f"{kind}-{self._number}"

    def _keys(self) -> list[Key]:
        keys = sorted(self._books.places)
        if self._rng.random() < 0.05:
            return [key for key in keys if key[0] == WIDE]
        narrow = [key for key in keys if key[0] != WIDE or key[1] < 5]
        return self._rng.sample(narrow, min(len(narrow), self._rng.randint(1, 12)))

    def _plan(self) -> dict[Key, Replicas]:
        brokers = self.asking.all if self._rng.random() < 0.2 else self.asking.up
        return {key: self._replicas(brokers) for key in self._keys()}

    def _replicas(self, brokers: range | set[int]) -> Replicas:
        count = self._rng.randint(1, min(MOST_REPLICAS, len(brokers)))
        return tuple(self._rng.sample(sorted(brokers), count))

    def _job(self, newest: int) -> int:
        numbers = sorted(self._books.jobs)[-newest:]
        return self._rng.choice(numbers) if numbers else 0

    @contextmanager
    def _in_doubt(self, doubt: Doubt) -> Iterator[None]:
        try:
            yield
        except GoneError:
            self._books.doubt = doubt
            raise

    def _note_job(self, tag: str) -> None:
        """Remember the job that an acknowledged request became, if it had anything to do."""
        with self._in_doubt(Doubt(tag, {}, {})):
            newest = self.asking.http("GET", "/v1/jobs", limit=1)["jobs"]
            if newest and newest[0]["client_id"] == tag:
                detail = self.asking.job(newest[0]["id"])
                self._books.note(detail)

    def _set(self, values: Mapping[str, object], ask: Callable[[], Any]) -> None:
        registers = self._books.registers
        try:
            ask()
        except GoneError:
            for name, value in values.items():
                registers[name].may_have_done(value)
            raise
        for name, value in values.items():
            registers[name].did(value)


def key_of(part: Mapping[str, Any]) -> Key:
    """The partition that a row of the API is about."""
    return part["topic"], part["partition"]
