"""kill -9 at random instants of a run of everything; nothing acknowledged may be lost: `python -m bench.kills --kills 200`."""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

from bench.asking import Asking, GoneError, RefusedError
from bench.books import LIMITS, Books, Doubt, keys_of
from bench.ledger import Deed, Key, LostError, Replicas, after, cancel, order, queue, withdraw
from tools.processes import Reassignd

BROKERS = 6
OVERRIDES = {
    "embedded.network.bytes.per.second": "2000000",
    "embedded.produce.bytes.per.second": "0",
    "embedded.tick.ms": "10",
    "jobs.retention.count": "1000000",
    "log.level": "WARN",
}
BYTES = 100_000
WIDE, WIDE_PARTITIONS, WIDE_BYTES = "wide", 600, 3_000
"""A topic whose plans are decided in more than one slice."""

MOST_TOPICS = 8
LIFE_SECONDS = 0.8
START_SECONDS = 0.5
STILLBORN = 0.15
"""So often the server is killed once more while it starts."""

END_SECONDS = 60
KILLED = -9


class Run:
    """A server that is killed again and again, and its one client."""

    def __init__(self, folder: Path, seed: int, say: Callable[[str], None]) -> None:
        self.server = Reassignd(folder, OVERRIDES, BROKERS)
        self.books = Books()
        self.done: Counter[str] = Counter()
        self._rng = random.Random(seed)
        self._say = say
        self._number = 0
        self._asking: Asking

    def kills(self, count: int) -> None:
        """So many lives, each ended by SIGKILL; then a last one that ends in peace. Raises LostError."""
        for life in range(1, count + 1):
            with self._life():
                self._live()
            if self._rng.random() < STILLBORN:
                self._stillborn()
            if life % 20 == 0:
                self._say(f"{life} kills, {sum(self.done.values())} requests, {len(self.books.jobs)} jobs")
        with self._serving():
            self._end_in_peace()

    # ---- lives and deaths -----------------------------------------------------------------------------------

    @contextmanager
    def _serving(self) -> Iterator[None]:
        self.server.start()
        self._asking = Asking(self.server.bootstrap, self.server.http, BROKERS, self._rng)
        try:
            self.books.audit(self._asking)
            yield
        finally:
            self._asking.close()
            self.server.kill()

    @contextmanager
    def _life(self) -> Iterator[None]:
        codes: list[int] = []
        with self._serving():
            timer = Timer(self._rng.uniform(0, LIFE_SECONDS), lambda: codes.append(self.server.kill()))
            timer.start()
            try:
                yield
            finally:
                timer.join()
        if codes != [KILLED]:
            raise LostError(f"the server ended by itself, exit code {codes}")

    def _stillborn(self) -> None:
        timer = Timer(self._rng.uniform(0.05, START_SECONDS), lambda: self.server.kill())
        timer.start()
        try:
            self.server.start()
        except RuntimeError:
            self.done["killed while starting"] += 1
        timer.join()
        self.server.kill()

    def _live(self) -> None:
        names = [name for name, weight in WEIGHTS.items() for _ in range(weight)]
        while True:
            if not self.books.topics:
                name = "create"
            elif WIDE not in self.books.topics:
                name = "create_wide"
            else:
                name = self._rng.choice(names)
            try:
                getattr(self, name)()
                self.done[name] += 1
            except RefusedError:
                self.done[name + ", refused"] += 1
            except GoneError:
                self.done[name + ", no answer"] += 1
                return

    # ---- requests -------------------------------------------------------------------------------------------

    def create(self) -> None:
        """A topic."""
        if len(self.books.topics) < MOST_TOPICS:
            self._create(f"t{self._next()}", self._rng.randint(2, 8), BYTES)

    def create_wide(self) -> None:
        """The topic of many partitions."""
        self._create(WIDE, WIDE_PARTITIONS, WIDE_BYTES)

    def delete(self) -> None:
        """A topic, some of whose partitions may move."""
        names = [name for name in self.books.topics if name != WIDE]
        if len(names) < MOST_TOPICS // 2:
            return
        name = self._rng.choice(names)
        try:
            error = self._asking.delete(name)
        except GoneError:
            self.books.forget(name, acknowledged=False)
            raise
        if error:
            raise LostError(f"{name} cannot be deleted: error {error}")
        self.books.forget(name, acknowledged=True)

    def alter(self) -> None:
        """A plan in the protocol of the stock tools."""
        plan, tag = self._plan(), self._tag()
        deeds = {key: order(target) for key, target in plan.items()}
        with self._in_doubt(Doubt(tag, deeds, {})):
            errors = self._asking.alter(dict(plan), tag)
        self.books.did({key: deed for key, deed in deeds.items() if errors[key] == 0})
        self._note_job(tag)

    def cancel(self) -> None:
        """A few partitions, moving or not."""
        keys = self._keys()
        try:
            errors = self._asking.alter(dict.fromkeys(keys), self._tag())
        except GoneError:
            for key in keys:
                self.books.places[key].may_have_done(cancel)
            raise
        self.books.cancelled(errors)

    def execute(self) -> None:
        """A plan over HTTP, queued or not."""
        plan, tag = self._plan(), self._tag()
        queued = self._rng.random() < 0.6
        options: dict[str, object] = {"queue": True, "append": self._rng.random() < 0.7} if queued else {}
        if self._rng.random() < 0.3:
            options["throttle"] = self._rng.choice([200_000, 2_000_000])
        deeds = {key: queue(tag, target) if queued else order(target) for key, target in plan.items()}
        rows = [{"topic": key[0], "partition": key[1], "replicas": to} for key, to in plan.items()]
        with self._in_doubt(Doubt(tag, deeds, {})):
            answer = self._asking.http(
                "POST", "/v1/jobs", {"version": 1, "partitions": rows}, tag, **options
            )
        refused = {(row["topic"], row["partition"]) for row in answer["refused"]}
        self.books.did({key: deed for key, deed in deeds.items() if key not in refused})
        self._note_job(tag)

    def roll_back(self) -> None:
        """A whole job, more often a young one."""
        if not self.books.jobs:
            return
        number = self._rng.choice(sorted(self.books.jobs)[-self._rng.choice([3, 30]) :])
        tag, undone = self._tag(), self.books.jobs[number]
        deeds, withdrawn = self._taking_back(number, undone)
        with self._in_doubt(Doubt(tag, deeds, withdrawn)):
            answer = self._asking.http("POST", f"/v1/jobs/{number}/rollback", tag=tag)
        skipped = {(row["topic"], row["partition"]) for row in answer["skipped"]}
        self.books.did({key: withdrawn[key] if key in skipped else deed for key, deed in deeds.items()})
        self._note_job(tag)

    def pause(self) -> None:
        """Everything, for a moment."""
        for value, path in ((True, "/v1/pause"), (False, "/v1/resume")):
            self._set({"paused": value}, lambda path=path: self._asking.http("POST", path))

    def pause_job(self) -> None:
        """A job; it goes on when it is resumed, or in the end."""
        if self.books.jobs:
            number = self._rng.choice(sorted(self.books.jobs)[-5:])
            self._asking.http("POST", f"/v1/jobs/{number}/{self._rng.choice(['pause', 'resume', 'resume'])}")

    def prioritize(self) -> None:
        """A job."""
        if self.books.jobs:
            number = self._rng.choice(sorted(self.books.jobs)[-5:])
            body = {"priority": self._rng.randint(-5, 5)}
            self._asking.http("POST", f"/v1/jobs/{number}/priority", body)

    def limits(self) -> None:
        """One or two of them, or the throttle."""
        changes: dict[str, object] = {}
        for name in self._rng.sample(LIMITS, self._rng.choice([1, 1, 2])):
            rate = self._rng.choice([300_000, 3_000_000])
            number = rate if name == "throttle" else self._rng.randint(1, 3 if name == "R" else 12)
            changes[name] = self._rng.choice([None, number])
        self._set(changes, lambda: self._asking.http("PUT", "/v1/limits", changes))

    def break_broker(self) -> None:
        """Stop, start or slow one of them; three stay up."""
        up = self._asking.up
        number = self._rng.choice(list(self._asking.all))
        if number not in up:
            self._asking.http("POST", f"/v1/brokers/{number}/start")
            up.add(number)
        elif self._rng.random() < 0.3:
            factor = self._rng.choice([0, 0.3, 1, 1])
            self._asking.http("POST", f"/v1/brokers/{number}/slow", {"factor": factor})
        elif len(up) > BROKERS // 2:
            up.discard(number)
            self._asking.http("POST", f"/v1/brokers/{number}/stop", controlled=self._rng.random() < 0.5)
