"""State of a gateway, besides topics and partitions: steps, other clients' moves, and the past of partitions.

The *past* says what a look at Metadata is worth. A broker shows a partition as it was up to METADATA_LAG
before, and the next broker that is asked may lag more. A leader epoch does not always tell: Kafka starts none
when a row adds replicas or changes their order, and a change of leader that no poll has shown starts one. So
a list that the partition has had within that time proves nothing; any other list does. What the controller
says needs no such care: its list of reassignments, and its answers to rows.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from controller.model.cluster import Partition
from controller.model.configs import Resource
from controller.model.replicas import NO_LEADER, Replicas, TopicPartition
from controller.model.thresholds import (
    CONFIRMED_AFTER,
    MAX_POLL_GAP_MS,
    MAX_RESEND_PAUSE_MS,
    METADATA_LAG,
    MIN_RESEND_PAUSE_MS,
    TOPIC_REMOVED_MS,
    Discrepancy,
)
from controller.model.upstream_step import UpstreamStep
from controller.state.orders import AT_UPSTREAM, Listing, StepsInFlight
from controller.state.settings import SettingsState


class Past(NamedTuple):
    """The lists of a partition before its last change, and the time of that change."""

    lists: frozenset[Replicas]
    middles: frozenset[frozenset[int]]
    """The replicas in the middle of a step, in any order."""
    changed_ms: int
    moving: bool = False
    """Whether the list of reassignments has the partition. What it shows is not polled again and again."""


class PastLists:
    """The past of the partitions that changed lately, those that changed last at the end. Not durable."""

    def __init__(self) -> None:
        self._pasts: dict[TopicPartition, Past] = {}

    def __len__(self) -> int:
        return len(self._pasts)

    def leave(
        self,
        key: TopicPartition,
        now_ms: int,
        lists: Iterable[Replicas] = (),
        middles: Iterable[frozenset[int]] = (),
        *,
        moving: bool = False,
    ) -> None:
        """The partition has had these lists, and may have left them now.

        While it moves, it may leave them later.
        """
        past = self._pasts.pop(key, None)
        if past is None or not _is_recent(past, now_ms):
            past = Past(frozenset(), frozenset(), now_ms)
        self._pasts[key] = Past(past.lists.union(lists), past.middles.union(middles), now_ms, moving)

    def moves(self, key: TopicPartition) -> bool:
        """Whether the list of reassignments had the partition in the last poll of it."""
        past = self._pasts.get(key)
        return past is not None and past.moving

    def stop(self, key: TopicPartition, now_ms: int) -> None:
        """The list of reassignments does not have the partition. If it had it before, that is a change."""
        if self.moves(key):
            self.leave(key, now_ms)

    def may_show(self, key: TopicPartition, replicas: Replicas, now_ms: int) -> bool:
        """Whether a broker that lags may show this list."""
        past = self._pasts.get(key)
        if past is None or not self.changed_lately(key, now_ms):
            return False
        return replicas in past.lists or frozenset(replicas) in past.middles

    def changed_lately(self, key: TopicPartition, now_ms: int) -> bool:
        """Whether a broker that lags may show the partition before its last change."""
        past = self._pasts.get(key)
        if past is not None and now_ms < past.changed_ms:  # the clock was set back
            past = self._pasts[key] = past._replace(changed_ms=now_ms)
        return past is not None and _is_recent(past, now_ms)

    def forget(self, key: TopicPartition) -> None:
        """The partition was deleted: another one of its name has no past."""
        self._pasts.pop(key, None)

    def forget_old(self, now_ms: int) -> None:
        """Forget what no broker can show any more."""
        for key, past in list(self._pasts.items()):
            if not past.moving and self.changed_lately(key, now_ms):
                break
            if not past.moving:
                del self._pasts[key]


def _is_recent(past: Past, now_ms: int) -> bool:
    return past.moving or now_ms < past.changed_ms + METADATA_LAG.ms


class Suspect(NamedTuple):
    """The rows of a partition that were not answered when the term of the earlier instance ended."""

    rows: tuple[Replicas | None, ...]
    """The replicas that each row requests, the newest first; None for a cancel. Any of them may arrive: the
    row of a step, of the step that it replaces, and their cancel."""
    claimed_ms: int
    """When this instance became the active one."""
    repeats: int = 0
    """How often the own row was sent again because one of these had arrived late."""


class Sighting(NamedTuple):
    """A discrepancy that consecutive polls of a partition have shown."""

    discrepancy: Discrepancy
    polls: int
    last_ms: int
    """Time of the last poll."""
    lasted_ms: int
    """How long polls have shown it; the time between two polls counts as `MAX_POLL_GAP_MS` at most."""
    waited_ms: int = 0
    """The time since the first poll, whatever the gaps."""
    resend_at_ms: int = 0
    """The value of `waited_ms` at which the row is to be sent again."""

    @property
    def is_confirmed(self) -> bool:
        """Whether the discrepancy was seen often enough and for long enough to act on it."""
        needed = CONFIRMED_AFTER[self.discrepancy]
        return self.polls >= needed.polls and self.lasted_ms >= needed.ms


@dataclass(slots=True)
class StepTracking:
    """The volatile part of a partition's upstream step; after a restart it is empty."""

    unanswered: int = 0
    """Rows that were decided and are not answered yet."""
    sighting: Sighting | None = None


@dataclass(eq=False, slots=True)
class GatewayState:
    """The steps requested of the upstream, moves of other clients, and what polls have shown.

    It is empty in other modes.
    """

    listing: Listing
    in_flight: StepsInFlight
    steps: dict[TopicPartition, UpstreamStep] = field(default_factory=dict)
    tracking: dict[TopicPartition, StepTracking] = field(default_factory=dict)
    """Partitions with unanswered rows or a sighting, with or without a step of ours; absent when there are
    none."""
    past: PastLists = field(default_factory=PastLists)
    """What brokers that lag may show of partitions that changed lately."""
    cordon_refusals: dict[int, str] = field(default_factory=dict)
    """By broker, why the upstream refused to cordon it when that was asked last. Not durable."""
    suspects: dict[TopicPartition, Suspect] = field(default_factory=dict)
    """Partitions of which an earlier active instance may have sent a row that arrives late. Not durable."""
    late_rows: int = 0
    """Number of rows that were sent because one of an earlier active instance had arrived late."""
    external: set[TopicPartition] = field(default_factory=set)
    """Partitions that the upstream moves for another client, or for a step of ours that a cancel by `stop`
    left in flight."""
    confirmed_throttles: dict[Resource, Mapping[str, str]] = field(default_factory=dict)
    """Topics and brokers that have the throttle they should have, and its values by config. Not durable."""
    others_rates: Mapping[int, int] = field(default_factory=dict)
    """By broker the lowest replication throttle in bytes per second that others have set, while something
    moves. Not durable."""
    unreachable: str = ""
    """Why the upstream cannot be polled; empty while it can."""
    unreachable_since_ms: int = 0
    """When the first poll failed, while it cannot be polled."""
    shown_in_part: set[str] = field(default_factory=set)
    """Topics of which polls have shown some partitions, and no complete poll yet since the start."""
    missing_since: dict[str, int] = field(default_factory=dict)
    """Topics that polls miss, or show as another topic of that name, and since when (ms)."""
    under_min_isr: dict[TopicPartition, None] = field(default_factory=dict)
    """Partitions under min ISR or without a leader that are none of ours to repair, in the order in which
    they became so."""
    health_problem: str = ""
    """Why nothing new should start, as far as the upstream's health goes; empty when it is well."""

    # ---- records -------------------------------------------------------------------------------------------

    def put_step(self, record: UpstreamStep) -> None:
        """Insert or replace the step."""
        self.steps[record.key] = record
        self.in_flight.note(record.topic, record.partition, AT_UPSTREAM, record.in_flight)

    def delete_step(self, key: TopicPartition) -> None:
        """Remove the step, which exists."""
        del self.steps[key]
        self.in_flight.note(*key, AT_UPSTREAM, False)
        self.forget_sighting(key)

    def forget_partition(self, key: TopicPartition) -> None:
        """The partition was deleted."""
        self.discard_external(key)
        self.past.forget(key)
        self.under_min_isr.pop(key, None)

    # ---- polls ---------------------------------------------------------------------------------------------

    def reached(self) -> None:
        """The upstream was polled."""
        self.unreachable = ""

    def lost(self, why: str, now_ms: int) -> None:
        """The upstream cannot be polled. Sightings that do not survive an outage end."""
        if not self.unreachable:
            self.unreachable_since_ms = now_ms
        self.unreachable = why
        self.forget_sightings()

    def shown(self, topic: str) -> None:
        """A poll shows the topic as it is known."""
        self.missing_since.pop(topic, None)

    def is_missing(self, topic: str, now_ms: int) -> bool:
        """Count a poll that misses the topic.

        Return whether that has lasted for longer than a broker can lag.
        """
        since = self.missing_since.setdefault(topic, now_ms)
        gone = now_ms - since >= TOPIC_REMOVED_MS
        if gone:
            del self.missing_since[topic]
        return gone

    def note_part(self, topic: str, *, complete: bool) -> None:
        """Note whether polls have shown all partitions of the topic."""
        if complete:
            self.shown_in_part.discard(topic)
        else:
            self.shown_in_part.add(topic)

    def set_health(self, problem: str) -> None:
        """Set why nothing new should start."""
        self.health_problem = problem

    def set_others_rates(self, rates: Mapping[int, int]) -> None:
        """Replace the throttles that others have set."""
        self.others_rates = rates

    def refuse_cordon(self, broker: int, reason: str) -> None:
        """The upstream does not cordon the broker."""
        self.cordon_refusals[broker] = reason

    def ask_cordons(self, brokers: Iterable[int]) -> None:
        """The upstream is asked to cordon these brokers, again if it has refused before."""
        for broker in self.cordon_refusals.keys() & set(brokers):
            del self.cordon_refusals[broker]

    def confirm_throttle(self, resource: Resource, values: Mapping[str, str] | None) -> None:
        """Remember the throttle that was confirmed for the resource.

        `values` is None if it does not have the throttle that it should have, or should have none.
        """
        if values is None:
            self.confirmed_throttles.pop(resource, None)
        else:
            self.confirmed_throttles[resource] = values

    def weigh(self, partition: Partition, ours: bool, settings: SettingsState) -> None:
        """Update `under_min_isr` after a change of the partition, its reassignment or its topic's configs."""
        in_sync, members = len(partition.isr), len(partition.replicas)
        below = in_sync < members and partition.under_replicated
        under_min_isr = partition.leader == NO_LEADER or (
            below and in_sync < settings.min_isr(partition.topic)
        )
        if under_min_isr and not ours:
            self.under_min_isr[partition.key] = None
        elif self.under_min_isr:
            self.is_ours(partition.key)

    def is_ours(self, key: TopicPartition) -> None:
        """The partition is reassigned by us, or well: it is no problem of the cluster's."""
        self.under_min_isr.pop(key, None)

    # ---- late rows, and other clients ----------------------------------------------------------------------

    def suspect(self, key: TopicPartition, suspect: Suspect) -> None:
        """An earlier active instance may have sent rows of the partition."""
        self.suspects[key] = suspect

    def count_repeat(self, key: TopicPartition) -> None:
        """Count a row that was sent because of a late one."""
        suspect = self.suspects[key]
        self.suspects[key] = suspect._replace(repeats=suspect.repeats + 1)
        self.late_rows += 1

    def add_external(self, key: TopicPartition) -> None:
        """The upstream moves the partition, and what it shows is to be listed."""
        if key not in self.external:
            self.external.add(key)
            self.listing.changed(key.topic)

    def discard_external(self, key: TopicPartition) -> None:
        """The move has ended or become ours, or its partition was deleted. Without a move nothing happens."""
        if key in self.external:
            self.external.discard(key)
            self.listing.changed(key.topic)

    def moved_by_others(self, key: TopicPartition) -> bool:
        """Whether polls show that another client moves the partition, be it for less than the threshold.

        Nothing but a client's order or cancel may change that move.
        """
        step, tracking = self.steps.get(key), self.tracking.get(key)
        sighting = None if tracking is None else tracking.sighting
        if sighting is not None and sighting.discrepancy is Discrepancy.EXTERNAL_MOVE:
            return True
        return key in self.external and (step is None or not step.in_flight)

    def request_sent(self, key: TopicPartition) -> None:
        """Count a row that was decided."""
        self._track(key).unanswered += 1

    def request_answered(self, key: TopicPartition) -> None:
        """Count the answer to a row; nothing happens for a row of before a restart."""
        tracking = self.tracking.get(key)
        if tracking is not None and tracking.unanswered:
            tracking.unanswered -= 1
            self._untrack(key, tracking)

    def awaits_answer(self, key: TopicPartition) -> bool:
        """Whether a row of the partition is not answered yet."""
        tracking = self.tracking.get(key)
        return tracking is not None and tracking.unanswered > 0

    def sighted(self, key: TopicPartition, discrepancy: Discrepancy, now_ms: int) -> Sighting:
        """Count a poll that shows the discrepancy; the sighting of another one ends."""
        tracking = self._track(key)
        before = tracking.sighting
        if before is None or before.discrepancy is not discrepancy:
            before = Sighting(discrepancy, 0, now_ms, 0)
        gap = max(0, now_ms - before.last_ms)  # the clock may have been set back
        tracking.sighting = sighting = before._replace(
            polls=before.polls + 1,
            last_ms=now_ms,
            lasted_ms=before.lasted_ms + min(gap, MAX_POLL_GAP_MS),
            waited_ms=before.waited_ms + gap,
        )
        return sighting

    def resend_is_due(self, key: TopicPartition, discrepancy: Discrepancy, now_ms: int) -> bool:
        """Count a poll as `sighted` does.

        The result is True if the row is to be sent again, each time after a longer pause.
        """
        sighting = self.sighted(key, discrepancy, now_ms)
        if sighting.waited_ms < sighting.resend_at_ms:
            return False
        pause = min(max(sighting.waited_ms, MIN_RESEND_PAUSE_MS), MAX_RESEND_PAUSE_MS)
        self._track(key).sighting = sighting._replace(resend_at_ms=sighting.waited_ms + pause)
        return True

    def forget_sighting(self, key: TopicPartition) -> bool:
        """End the partition's sighting; True when there was one."""
        tracking = self.tracking.get(key)
        if tracking is None or tracking.sighting is None:
            return False
        tracking.sighting = None
        self._untrack(key, tracking)
        return True

    def forget_sightings(self) -> None:
        """End all sightings that do not survive an outage of the upstream."""
        for key, tracking in list(self.tracking.items()):
            sighting = tracking.sighting
            if sighting is not None and not _survives_outage(sighting.discrepancy):
                self.forget_sighting(key)

    def sighted_keys(self) -> set[TopicPartition]:
        """Return the partitions with a sighting."""
        return {key for key, tracking in self.tracking.items() if tracking.sighting is not None}

    def _track(self, key: TopicPartition) -> StepTracking:
        tracking = self.tracking.get(key)
        if tracking is None:
            tracking = self.tracking[key] = StepTracking()
        return tracking

    def _untrack(self, key: TopicPartition, tracking: StepTracking) -> None:
        if not tracking.unanswered and tracking.sighting is None:
            del self.tracking[key]


def _survives_outage(discrepancy: Discrepancy) -> bool:
    return discrepancy in CONFIRMED_AFTER and CONFIRMED_AFTER[discrepancy].survives_outage
