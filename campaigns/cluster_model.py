"""The client's model of the cluster, checked against the server after each restart.

The model contains acknowledged and unanswered requests.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from campaigns.client import CampaignClient
from campaigns.partition_model import (
    Key,
    LostError,
    ObservedPartition,
    PartitionModel,
    Replicas,
    Transition,
    ValueModel,
)

LIMITS = ("R", "P", "L", "C", "B", "bytes", "throttle")
PENDING = "rolling back first"
NO_JOB = 0


class UnansweredRequest(NamedTuple):
    """A plan or rollback without an answer. It was accepted if the server has a job with its tag."""

    tag: str
    transitions: Mapping[Key, Transition]
    outside_job: Mapping[Key, Transition]
    """Transitions of partitions outside of its job, in case it was accepted."""


class ClusterModel:
    """Expected state of topics, jobs and limits.

    `check_against` compares it with a server and raises LostError.
    """

    def __init__(self) -> None:
        self.partitions: dict[Key, PartitionModel] = {}
        self.deleted: set[str] = set()
        self.unanswered_creations: dict[str, list[Replicas]] = {}
        self.jobs: dict[int, str] = {}
        """Tags of the jobs that are known to be durable, by job id."""
        self.unanswered: UnansweredRequest | None = None
        self.registers = {name: ValueModel(f"limit {name}", None) for name in LIMITS}
        self.registers["paused"] = ValueModel("paused", False)
        self.unanswered_deletions: set[str] = set()

    @property
    def topics(self) -> list[str]:
        """Names of the topics that certainly exist."""
        return sorted({topic for topic, _ in self.partitions})

    def created(self, name: str, assignment: Iterable[Replicas]) -> None:
        """Record a created topic."""
        for number, replicas in enumerate(assignment):
            self.partitions[name, number] = PartitionModel(replicas)

    def forget(self, name: str, *, acknowledged: bool) -> None:
        """Record a deletion; partitions of the topic are not checked any more."""
        (self.deleted if acknowledged else self.unanswered_deletions).add(name)
        for key in [key for key in self.partitions if key[0] == name]:
            del self.partitions[key]

    def acknowledge(self, transitions: Mapping[Key, Transition], tag: str) -> None:
        """Record an acknowledged request and its accepted rows."""
        for key, transition in transitions.items():
            if key in self.partitions:
                with naming(key):
                    self.partitions[key].acknowledge(transition, tag)

    def note(self, detail: Any) -> None:
        """Record the job of the request that was acknowledged last.

        `detail` is the answer of /v1/jobs/{id}.
        """
        job = detail["job"]
        self.jobs[job["id"]] = job["client_id"]
        if job["kind"] == "queue":
            return
        for part in detail["partitions"]:
            key = part["topic"], part["partition"]
            if key in self.partitions:
                with naming(key):
                    self.partitions[key].set_original(tuple(part["original"]))

    def close(self, replicas: Mapping[Key, Replicas]) -> None:
        """Check the final replica lists, including their order. Raises LostError."""
        for key, place in self.partitions.items():
            if replicas.get(key) not in place.final_replicas():
                raise LostError(
                    f"{key} ended at {replicas.get(key)}, expected one of {place.final_replicas()}"
                )

    def check_against(self, server: CampaignClient) -> None:
        """Compare the model with the server, then narrow the model to what the server shows.

        Readers may see state that is not durable yet. So a write is committed before the model is narrowed.
        """
        self._check_jobs(server)
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
        self._resolve_creations(replicas)
        fitting = {}
        for key, place in self.partitions.items():
            if key not in replicas:
                raise LostError(f"{key} does not exist")
            with naming(key):
                fitting[key] = place.consistent_states(
                    ObservedPartition(ongoing.get(key), replicas[key][0], queued.get(key))
                )
        self._commit_a_write(server)
        for key, states in fitting.items():
            self.partitions[key].settle(states)

    def _check_jobs(self, server: CampaignClient) -> None:
        listed = {row["id"]: row for row in self._all_jobs(server)}
        for number, tag in self.jobs.items():
            if number not in listed or listed[number]["client_id"] != tag:
                raise LostError(f"job {number} ({tag}) is unknown after the restart")
        if self.unanswered is not None:
            number = next((n for n, row in listed.items() if row["client_id"] == self.unanswered.tag), NO_JOB)
            self._resolve(server, self.unanswered, number)
            self.unanswered = None

    def _resolve(self, server: CampaignClient, unanswered: UnansweredRequest, number: int) -> None:
        """Apply an unanswered request if its job exists.

        Refused rows and rows without effect are not part of a job.
        """
        taken = keys_of(server.job(number)) if number else set()
        for key, transition in unanswered.transitions.items():
            if key in taken:
                self.partitions[key].acknowledge(transition, unanswered.tag + " in a job,")
        for key, transition in unanswered.outside_job.items():
            if key not in taken and key in self.partitions:
                self.partitions[key].mark_unanswered(transition, unanswered.tag)
        if number:
            self.jobs[number] = unanswered.tag

    def _all_jobs(self, server: CampaignClient) -> list[Any]:
        rows: list[Any] = server.http("GET", "/v1/jobs", limit=10_000)["jobs"]
        return rows

    def _resolve_creations(self, seen: Mapping[Key, object]) -> None:
        there = {topic for topic, _ in seen}
        for name, assignment in self.unanswered_creations.items():
            if name in there:
                self.created(name, assignment)
        self.unanswered_creations.clear()

    def _commit_a_write(self, server: CampaignClient) -> None:
        [paused] = self.registers["paused"].values
        server.http("POST", "/v1/pause" if paused else "/v1/resume")


@contextmanager
def naming(key: Key) -> Iterator[None]:
    """Add the partition to the message of a LostError."""
    try:
        yield
    except LostError as error:
        raise LostError(f"{key}: {error}") from error


def keys_of(detail: Any) -> set[Key]:
    """Return the partitions of a job."""
    return {(part["topic"], part["partition"]) for part in detail["partitions"]}
