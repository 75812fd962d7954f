"""A proposed plan and what it does to each broker."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from common.units import in_bytes
from controller.model.replicas import Replicas
from planner.proposals.problem.goal import (
    RATE_LOADS,
    CountRange,
    LeftOut,
    LoadName,
    ProblemRow,
    ProposalError,
)

Lists = Mapping[ProblemRow, Replicas]
"""New replica list of each row of a problem."""


class BrokerLoad(NamedTuple):
    """What a broker holds."""

    replicas: int
    leaders: int
    bytes: int


class BrokerChange(NamedTuple):
    """A broker before and after the plan, with the replicas that it gains and loses."""

    broker: int
    rack: str | None
    before: BrokerLoad
    after: BrokerLoad
    gains: int
    losses: int
    wanted: CountRange | None
    """Range of replicas for even counts; None if the goal does not ask for them."""
    live: bool = True


class CarriedLoad(NamedTuple):
    """What a broker carries of a load before and after the plan, and what it should; `share` is fair."""

    broker: int
    before: int
    after: int
    least: int
    most: int
    share: float
    reason: str | None = None
    """Why it stays outside of its range; None if it does not."""


class LoadChange(NamedTuple):
    """A load that the goal is about, on each broker that has a range."""

    load: LoadName
    brokers: tuple[CarriedLoad, ...]

    @property
    def outside(self) -> list[str]:
        """A line for each broker that stays outside of its range."""
        return [self._line(each) for each in self.brokers if each.reason is not None]

    def _line(self, each: CarriedLoad) -> str:
        least, most, after = (in_units(self.load, amount) for amount in (each.least, each.most, each.after))
        wanted = f"{least} to {most}" if each.least else f"at most {most}"
        return f"broker {each.broker} gets {after} of {self.load} instead of {wanted}: {each.reason}"

    @property
    def highest(self) -> tuple[float, float]:
        """The largest part of a fair share before and after the plan."""
        return self._extreme(max)

    @property
    def lowest(self) -> tuple[float, float]:
        """The smallest part of a fair share before and after the plan."""
        return self._extreme(min)

    @property
    def wanted(self) -> float:
        """The largest part of a fair share that is within the tolerance."""
        return max((each.most / max(1.0, each.share) for each in self.brokers), default=1.0)

    def _extreme(self, of: Callable[[Iterable[float]], float]) -> tuple[float, float]:
        parts = [(each.before / each.share, each.after / each.share) for each in self.brokers if each.share]
        before, after = zip(*parts, strict=True) if parts else ((1.0,), (1.0,))
        return of(before), of(after)


def in_units(load: LoadName, amount: int) -> str:
    """Return an amount of a load with its unit."""
    if load == "replicas":
        return f"{amount:,}"
    return in_bytes(amount) + ("/s" if load in RATE_LOADS else "")


class InSyncLoss(NamedTuple):
    """Partitions that have fewer replicas in sync after the plan than before.

    New replicas are in sync by then.
    """

    partitions: int
    keeping_others: int
    """Those of them that keep a replica that is not in sync, or whose broker is offline."""


class Proposal(NamedTuple):
    """A plan. The solver proves that no plan for the same goal moves fewer replicas."""

    changes: Lists
    """New lists of the partitions that change, in order of topic and partition."""
    moves: int
    bytes: int
    leader_changes: int
    rack_excess_before: int
    rack_excess_after: int
    brokers: tuple[BrokerChange, ...]
    left_out: tuple[LeftOut, ...]
    widened: int
    """Replicas by which a limit on moves or bytes widened the ranges of counts; 0 without an effect."""
    moves_bound: int = 0
    """No plan for the same goal moves fewer replicas than this."""
    bytes_bound: int = 0
    """No plan for the same goal copies fewer bytes than this."""
    topic_excess_before: int = 0
    """Replicas above the even share of their topic on a broker, rounded up; over all brokers that may hold
    replicas."""
    topic_excess_after: int = 0
    in_sync_loss: InSyncLoss = InSyncLoss(0, 0)
    below_min_isr: int = 0
    """Partitions that get fewer replicas than `min.insync.replicas`: producers with acks=all could not write
    to them."""
    notes: tuple[str, ...] = ()
    """One line each: warnings, and goals that were relaxed for other goals."""
    elections: int = 0
    """Partitions among `changes` whose list stays: only their preferred leader is to be elected."""
    loads: tuple[LoadChange, ...] = ()
    """The loads that the goal names."""
    bytes_estimate: int = 0
    """The least bytes for even loads if replicas could be divided; 0 if it is not known."""
    elects: bool = False
    """The job of the plan elects the preferred leaders: it demotes brokers, or evens out loads of leaders."""
    partial: bool = False
    """The plan comes nearer to the goal, but does not reach it."""

    @property
    def fewest_moves_proven(self) -> bool:
        """Whether no plan for the same goal moves fewer replicas."""
        return self.moves == self.moves_bound

    @property
    def fewest_bytes_proven(self) -> bool:
        """Whether no plan for the same goal copies fewer bytes."""
        return self.bytes == self.bytes_bound

    @property
    def uneven(self) -> tuple[BrokerChange, ...]:
        """Brokers that stay outside of their range: the rack rule or the budget leave no other place."""
        return tuple(
            each
            for each in self.brokers
            if each.wanted is not None and not each.wanted.least <= each.after.replicas <= each.wanted.most
        )


class PartialPlanError(ProposalError):
    """A plan gets closer to the goal, but does not reach it. `proposal` is that plan."""

    def __init__(self, reasons: Sequence[str], proposal: Proposal) -> None:
        super().__init__(reasons)
        self.proposal = proposal
