"""The client's books over a run of kills: what was asked, what was acknowledged, and whether the server still knows it."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bench.asking import Asking
from bench.ledger import Deed, Key, LostError, Place, Register, Replicas, Seen

LIMITS = ("R", "P", "L", "C", "B", "throttle")
PENDING = "rolling back first"
NO_JOB = 0


class Doubt(NamedTuple):
    """A plan or roll-back whose answer was lost; its job, if there is one, tells whether it was taken."""

    tag: str
    deeds: Mapping[Key, Deed]
    anyway: Mapping[Key, Deed]
    """What it did, if it was taken, to partitions that are not in its job."""


class Books:
    """Checks itself against a server by `audit`. Errors: LostError."""

    def __init__(self) -> None:
        self.places: dict[Key, Place] = {}
        self.deleted: set[str] = set()
        self.doubtful_topics: dict[str, list[Replicas]] = {}
        self.jobs: dict[int, str] = {}
        """Jobs that are known to be durable, by the tag that their request carried."""
        self.doubt: Doubt | None = None
        self.registers = {name: Register(f"limit {name}", None) for name in LIMITS}
        self.registers["paused"] = Register("paused", False)
        self.deletion_in_doubt: set[str] = set()

    @property
    def topics(self) -> list[str]:
        """Topics that are there for certain, and stay."""
        return sorted({topic for topic, _ in self.places})

    def created(self, name: str, assignment: Iterable[Replicas]) -> None:
        """The topic is there."""
        for number, replicas in enumerate(assignment):
            self.places[name, number] = Place(replicas)

    def forget(self, name: str, *, acknowledged: bool) -> None:
        """The topic is to be deleted; nothing is expected of its partitions any more."""
        (self.deleted if acknowledged else self.deletion_in_doubt).add(name)
        for key in [key for key in self.places if key[0] == name]:
            del self.places[key]

    def did(self, deeds: Mapping[Key, Deed], tag: str) -> None:
        """A request was acknowledged, with these rows accepted."""
        for key, deed in deeds.items():
            if key in self.places:
                self.places[key].did(deed, tag)

    def note(self, detail: Any) -> None:
        """The job that the request acknowledged last has become."""
        job = detail["job"]
        self.jobs[job["id"]] = job["client_id"]
        if job["kind"] == "queue":
            return
        for part in detail["partitions"]:
            key = part["topic"], part["partition"]
            if key in self.places:
                self.places[key].found_at(tuple(part["original"]))

    def close(self, replicas: Mapping[Key, Replicas]) -> None:
        """Everything has ended: each partition is where it may be, in that order."""
        for key, place in self.places.items():
            if replicas.get(key) not in place.ends_at():
                raise LostError(f"{key} ended at {replicas.get(key)}, expected one of {place.ends_at()}")

    def audit(self, server: Asking) -> None:
        """Look at everything. What is seen is believed only once a later write is durable: readers may be ahead."""
        self._audit_jobs(server)
        limits = {each["name"]: each["limit"] for each in server.http("GET", "/v1/limits")["limits"]}
        for name, value in limits.items():
            self.registers[name].check(value)
        self.registers["paused"].check(server.http("GET", "/v1/status")["paused"])
        entries = server.http("GET", "/v1/queue", limit=10_000)["entries"]
        queued = {
            (row["topic"], row["partition"]): tuple(row["target"])
            for row in entries
            if row["state"] == PENDING
        }
        ongoing, replicas = server.ongoing(), server.replicas()
        self._settle_topics(replicas)
        fitting = {}
        for key, place in self.places.items():
            if key not in replicas:
                raise LostError(f"{key} is gone")
            try:
                fitting[key] = place.fits(Seen(ongoing.get(key), replicas[key][0], queued.get(key)))
            except LostError as error:
                raise LostError(f"{key}: {error}") from error
        self._write_something(server)
        for key, worlds in fitting.items():
            self.places[key].settle(worlds)

    def _audit_jobs(self, server: Asking) -> None:
        listed = {row["id"]: row for row in self._all_jobs(server)}
        for number, tag in self.jobs.items():
            if number not in listed or listed[number]["client_id"] != tag:
                raise LostError(f"job {number} ({tag}) is not known any more")
        if self.doubt is not None:
            number = next((n for n, row in listed.items() if row["client_id"] == self.doubt.tag), NO_JOB)
            self._resolve(server, self.doubt, number)
            self.doubt = None

    def _resolve(self, server: Asking, doubt: Doubt, number: int) -> None:
        """Either all of it is there or none; rows that were refused, or had nothing to do, are not in the job."""
        taken = keys_of(server.job(number)) if number else set()
        for key, deed in doubt.deeds.items():
            if key in taken:
                self.places[key].did(deed, doubt.tag + " in a job,")
        for key, deed in doubt.anyway.items():
            if key not in taken and key in self.places:
                self.places[key].may_have_done(deed, doubt.tag)
        if number:
            self.jobs[number] = doubt.tag

    def _all_jobs(self, server: Asking) -> list[Any]:
        rows: list[Any] = server.http("GET", "/v1/jobs", limit=10_000)["jobs"]
        return rows

    def _settle_topics(self, seen: Mapping[Key, object]) -> None:
        there = {topic for topic, _ in seen}
        for name, assignment in self.doubtful_topics.items():
            if name in there:
                self.created(name, assignment)
        self.doubtful_topics.clear()

    def _write_something(self, server: Asking) -> None:
        [paused] = self.registers["paused"].values
        server.http("POST", "/v1/pause" if paused else "/v1/resume")


def keys_of(detail: Any) -> set[Key]:
    """The partitions of a job."""
    return {(part["topic"], part["partition"]) for part in detail["partitions"]}
