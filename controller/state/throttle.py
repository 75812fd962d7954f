"""The throttle: the rates that are ordered, those that the leases were made for, and what pace does."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.model.cluster import Job, Lease, ResourceType
from controller.model.configs import RATES, ConfigName
from controller.pace.history import History
from controller.pace.pacer import Pacer
from controller.pace.readings import PaceSettings


@dataclass(eq=False, slots=True)
class ThrottleState:
    """Rates in bytes per second, and the leases of configs."""

    leases: dict[tuple[ResourceType, str, str], Lease] = field(default_factory=dict)
    rates: dict[int, int] = field(default_factory=dict)
    """Of each open job that has one, and of the cluster under 0."""
    leased_rate: int | None = None
    """The rate for which the leases were made."""
    paced_rates: Mapping[int, int] = field(default_factory=dict)
    """The throttle of pace by broker. Brokers without one are absent."""
    leased_paced_rates: Mapping[int, int] = field(default_factory=dict)
    """The paced rates for which the leases were made."""
    unlisted: dict[ConfigName, int] = field(default_factory=dict)
    """By throttle list that is full: the replicas in flight that are not in it, so that no rate slows them.
    Not durable."""

    def put_lease(self, record: Lease) -> None:
        """Insert or replace the lease."""
        self.leases[record.key] = record

    def delete_lease(self, key: tuple[ResourceType, str, str]) -> None:
        """Remove the lease, which exists."""
        del self.leases[key]

    def follow_job(self, job: Job) -> None:
        """Take the rate of the job while it is open."""
        if job.throttle and not job.ended_ms:
            self.rates[job.id] = job.throttle
        else:
            self.rates.pop(job.id, None)

    def forget_job(self, number: int) -> None:
        """The job was deleted."""
        self.rates.pop(number, None)

    def set_cluster_rate(self, rate: int | None) -> None:
        """Set the rate of the cluster; None for none."""
        if rate is None:
            self.rates.pop(0, None)
        else:
            self.rates[0] = rate

    def set_leased(self, rate: int | None, paced: Mapping[int, int]) -> None:
        """The leases are made for these rates."""
        self.leased_rate, self.leased_paced_rates = rate, paced

    def set_paced(self, rates: Mapping[int, int]) -> None:
        """Replace the rates of pace."""
        self.paced_rates = rates

    def keep_paced(self, lease: Lease) -> None:
        """Keep the rate of a lease, which an earlier process may have set, until pace has measured."""
        if lease.config in RATES and lease.owned:
            self.paced_rates = {**self.paced_rates, int(lease.name): int(lease.owned[-1])}

    def note_unlisted(self, key: ConfigName, replicas: int) -> None:
        """Remember how many replicas in flight do not fit into the throttle list."""
        if replicas:
            self.unlisted[key] = replicas
        else:
            self.unlisted.pop(key, None)


@dataclass(eq=False, slots=True)
class PaceState:
    """What pace has measured and does. Not durable: after a start it learns anew, from small efforts."""

    settings: PaceSettings | None = None
    """None while `reassignment.pace` is off."""
    pacer: Pacer = field(default_factory=Pacer)
    history: History = field(default_factory=History)

    def change(self, settings: PaceSettings | None) -> bool:
        """Set the settings. Return whether they are other ones; then pace begins anew."""
        if settings == self.settings:
            return False
        self.settings = settings
        self.reset()
        return True

    def sample(self, now_ms: int) -> None:
        """Keep what pace does now in its history."""
        self.history.add(now_ms, self.pacer.brokers.values())

    def reset(self) -> None:
        """Forget what pace has measured."""
        self.pacer = Pacer()
