"""The values of the limits of concurrent movements (KIP-435), of the cluster or of one job."""

from typing import NamedTuple

UNLIMITED = 2_147_483_647


class PlanLimits(NamedTuple):
    """The values of the limits, a field for each; each is at least 1, and by default there is none."""

    per_partition: int = UNLIMITED
    partitions: int = UNLIMITED
    leaders: int = UNLIMITED
    replicas: int = UNLIMITED
    per_broker: int = UNLIMITED
    bytes: int = 2**63 - 1

    @property
    def step(self) -> int:
        """Maximum number of replicas that a planned step adds: no step needs to exceed a limit."""
        return min(self.per_partition, self.replicas, self.per_broker)

    def lower(self, other: "PlanLimits") -> "PlanLimits":
        """Return the lower one of each limit, as it holds for the steps of a job with limits of its own."""
        return PlanLimits(*map(min, self, other))


NO_LIMITS = PlanLimits()
