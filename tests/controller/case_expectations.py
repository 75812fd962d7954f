"""Compares the result of a case with its `expect`: one function for each key of `expect`."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from controller.messages.effects import BrokerJoined, Publish
from controller.model.cluster import Deleted, Reassignment, Topic
from controller.model.errors import Outcome
from tests.controller.case_actions import Json, Played


class Difference(NamedTuple):
    """One difference between the result and the expectation, as text."""

    what: str
    kafka: str
    ours: str


def differences(played: Played, expect: Mapping[str, Json]) -> Iterator[Difference]:
    """Return all differences between the result and the expectation."""
    for name, wanted in expect.items():
        if name in _CHECKS:
            yield from _CHECKS[name](played, wanted)
        elif name in played.found:
            yield from _compare(name, wanted, played.found[name])
        elif name in played.replies[-1].rows:
            yield from _row(f"{name} ", wanted, played.replies[-1].rows[name])
        else:
            yield from _compare(name, wanted, _shown(played, played.only)[name])


def _shown(played: Played, name: str, step: int = -1) -> dict[str, Json]:
    """Return a partition as the cases describe it."""
    now, began = played.after[step][name], played.began[name]
    return {
        "replicas": list(now.replicas),
        "adding": list(now.adding),
        "still_adding": list(now.adding),
        "removing": list(now.removing),
        "target": list(now.next),
        "being_reassigned": now.moving,
        "completes": not now.moving,
        "leader": now.leader,
        "isr": list(now.isr),
        "isr_from": list(began.isr),
        "leader_epoch": now.leader_epoch,
        "leader_epoch_delta": now.leader_epoch - began.leader_epoch,
        "partition_epoch_delta": now.partition_epoch - began.partition_epoch,
    }


def _state(played: Played, wanted: Mapping[str, Json]) -> Iterator[Difference]:
    for name, fields in wanted.items():
        yield from _fields(fields, _shown(played, name))


def _steps(played: Played, wanted: Sequence[Mapping[str, Json]]) -> Iterator[Difference]:
    """Compare the state after each action."""
    for number, step in enumerate(wanted):
        reply = played.replies[number]
        if "error" in step:
            yield from _compare("error", step["error"], reply.rows[played.only].error.name)
        shown = _shown(played, played.only, number)
        if step["phase"] is not None:
            yield from _compare("phase", step["phase"], "B" if shown["completes"] else "A")
        yield from _fields(step["after"], shown)


def _after_each(played: Played, wanted: Sequence[Mapping[str, Json]]) -> Iterator[Difference]:
    for number, fields in enumerate(wanted):
        yield from _fields(fields, _shown(played, played.only, number))


def _eventually(played: Played, wanted: Mapping[str, Json]) -> Iterator[Difference]:
    """Compare the state after all replicas have caught up."""
    for _ in range(3):
        for now in list(played.controller.state.cluster.all_partitions()):
            played.controller.isr(str(now.key), now.replicas)
    for name, replicas in wanted.items():
        yield from _compare(name, replicas, list(played.controller.replicas(name)))


def _top(played: Played, wanted: Mapping[str, Json]) -> Iterator[Difference]:
    yield from _row("top ", wanted, played.replies[-1].top)


def _error(played: Played, wanted: int) -> Iterator[Difference]:
    yield from _compare("error", wanted, played.replies[-1].top.error)


def _echoed(played: Played, wanted: Sequence[str]) -> Iterator[Difference]:
    yield from _compare("topics_echoed", wanted, list(played.replies[-1].echoed))


def _count(played: Played, wanted: int) -> Iterator[Difference]:
    yield from _compare("response_count", wanted, played.replies[-1].size)


def _topics(played: Played, wanted: Mapping[str, Json]) -> Iterator[Difference]:
    yield from _compare("topics", wanted, played.replies[-1].listed)


def _list_sizes(played: Played, wanted: Sequence[int]) -> Iterator[Difference]:
    sizes = [sum(map(len, reply.listed.values())) for reply in played.replies if reply.listed is not None]
    yield from _compare("list_sizes", wanted, sizes)


def _each(played: Played, wanted: Json) -> Iterator[Difference]:
    """Compare all listings with one expectation, or each with its own."""
    for number, reply in enumerate(played.replies):
        one = {"topics": wanted[number]} if isinstance(wanted, list) else wanted
        ours = {"error": reply.top.error, "topics": reply.listed if reply.listed is not None else reply.rows}
        yield from _fields(one, ours)


def _alter_partition_answer(played: Played, wanted: str) -> Iterator[Difference]:
    """Compare the answers of AlterPartition; the answer of the newest version comes first."""
    yield from _compare("answer", wanted.partition(";")[0], played.found["alter_partition_answer"])


def _first_10000(played: Played, wanted: Mapping[str, Json]) -> Iterator[Difference]:
    for outcome in list(played.replies[-1].rows.values())[:10_000]:
        yield from _row("first ", wanted, outcome)


def _last(played: Played, wanted: Mapping[str, Json]) -> Iterator[Difference]:
    yield from _row("last ", wanted, list(played.replies[-1].rows.values())[-1])


def _requests(played: Played, wanted: Json) -> Iterator[Difference]:
    ours = list(_sent(played))
    if isinstance(wanted, str):
        yield from _compare("requests", wanted, ", ".join(map(str, ours)))
        return
    for number, request in enumerate(wanted):
        got = ours[number] if number < len(ours) else {}
        for kind, fields in request.items():
            if kind not in got:
                yield from _compare("requests", len(wanted), len(ours))
            else:
                yield from _fields(fields, got[kind])


def _confirmed(played: Played, wanted: Mapping[str, Json]) -> Iterator[Difference]:
    """Check that an added replica receives a request that does not mark it as new."""
    (request,) = wanted.values()
    told = [r["LeaderAndIsr"] for r in _sent(played) if "LeaderAndIsr" in r]
    so = any(set(request["to"]) <= set(t["to"]) and t["isNew"] == request["isNew"] for t in told)
    yield from _compare("told", True, so)


def _sent(played: Played) -> Iterator[Json]:
    """Return the requests that the effects are sent as."""
    for effect in played.controller.effects:
        if isinstance(effect, Publish):
            yield from _as_requests(effect)
        elif isinstance(effect, BrokerJoined):
            assigned = any(
                effect.broker in now.replicas for now in played.controller.state.cluster.all_partitions()
            )
            still = "it is still assigned" if assigned else "it is not assigned"
            yield f"LeaderAndIsr to {effect.broker} ({still}), full UpdateMetadata"


def _resumed(played: Played, wanted: Sequence[str]) -> Iterator[Difference]:
    changed = [name for name, now in played.after[-1].items() if now != played.began[name]]
    yield from _compare("resumed", wanted, changed)


def _replica_state(played: Played, wanted: Mapping[str, str]) -> Iterator[Difference]:
    live = played.controller.state.cluster.live
    yield from _compare("state", wanted, {b: "Online" if int(b) in live else "Offline" for b in wanted})


def _after_delete(played: Played, wanted: Mapping[str, str]) -> Iterator[Difference]:
    marked = [c.name for c in played.controller.changes if isinstance(c, Topic) and c.deleting]
    yield from _compare("after_delete", wanted, dict.fromkeys(marked, "queued, ineligible"))


def _after_isr(played: Played, wanted: Mapping[str, str]) -> Iterator[Difference]:
    gone = [change.kind for change in played.controller.changes if isinstance(change, Deleted)]
    in_order = gone.index(Reassignment) < gone.index(Topic)
    words = "reassignment completes first, then deletion starts" if in_order else "deleted at once"
    yield from _compare("after_isr", wanted, {played.only: words})


def _as_requests(told: Publish) -> Iterator[Json]:
    now = told.partition
    fields = {
        "replicas": list(now.replicas),
        "adding": list(now.adding),
        "removing": list(now.removing),
        "isr": list(now.isr),
        "leader": now.leader,
        "leader_epoch": now.leader_epoch,
    }
    old = [r for r in sorted(now.replicas) if r not in told.new]
    if told.lead:
        yield {"LeaderAndIsr": {"to": old, "isNew": False, **fields}}
    if told.lead and told.new:
        yield {"LeaderAndIsr": {"to": list(told.new), "isNew": True, **fields}}
    yield {"UpdateMetadata": {"to": "all live", **fields}}


def _row(prefix: str, wanted: Mapping[str, Json], outcome: Outcome) -> Iterator[Difference]:
    shown = {"error": int(outcome.error), "message": outcome.message}
    for name, value in wanted.items():
        if name == "message_prefix":
            if not (outcome.message or "").startswith(value):
                yield from _compare(f"{prefix}message", f"{value}…", outcome.message)
        else:
            yield from _compare(f"{prefix}{name}", value, shown[name])


def _fields(wanted: Mapping[str, Json], shown: Mapping[str, Json]) -> Iterator[Difference]:
    for name, value in wanted.items():
        yield from _compare(name, value, shown[name])


def _compare(what: str, kafka: Json, ours: Json) -> Iterator[Difference]:
    if kafka != ours:
        yield Difference(what, _plain(kafka), _plain(ours))


def _plain(value: Json) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


_CHECKS: dict[str, Callable[[Played, Json], Iterator[Difference]]] = {
    "state": _state,
    "steps": _steps,
    "after": _after_each,
    "eventually": _eventually,
    "top": _top,
    "error": _error,
    "topics_echoed": _echoed,
    "response_count": _count,
    "topics": _topics,
    "list_sizes": _list_sizes,
    "each": _each,
    "alter_partition_answer": _alter_partition_answer,
    "first_10000": _first_10000,
    "last": _last,
    "requests": _requests,
    "B1": _confirmed,
    "resumed": _resumed,
    "replica_state": _replica_state,
    "after_delete": _after_delete,
    "after_isr": _after_isr,
}
