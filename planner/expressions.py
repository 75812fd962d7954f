"""Steps as Spark SQL expressions over arrays of broker ids (KIP-435): text only, run by `planner.spark`.

`NEXT_STEP` computes the next step of each row's partition, by the rules of `controller.scheduling.steps`.
`SWAPS` and `CLOSED_FORM` compute all steps of a partition at once, if nothing can delay them (`CALM`).
"""

from collections.abc import Mapping, Sequence

from controller.model.limits import UNLIMITED

Stage = Mapping[str, str]
"""Columns to add, as SQL. A column can use those of earlier stages, but not those of its own stage."""

NEXT_STEP: Sequence[Stage] = (
    {
        "missing": "array_except(target, current)",
        "excess": "array_except(current, target)",
        "synced": "array_except(array_intersect(current, isr), offline)",
        "floor": "greatest(1, least(min_isr, size(target)))",
    },
    {
        "ready": "array_except(missing, offline)",
        "leaving": (
            "concat(array_except(excess, synced), array_except(array_intersect(excess, synced),"
            " array(leader)), array_intersect(array_intersect(excess, synced), array(leader)))"
        ),
        "fits": "size(missing) <= max_step and size(excess) <= max_step"
        " and not arrays_overlap(missing, offline)",
        "leads": "not array_contains(current, target[0]) and not array_contains(offline, target[0])",
        # Replicas that the reassignment has added and that are no longer in sync: nothing is dropped.
        "fallen": "size(array_except(array_except(array_intersect(target, current), original), synced)) > 0",
        # Replicas that a list must have that drops some: a lower factor needs the whole target in sync.
        "lasting": (
            "if(size(array_except(target, synced)) > 0, greatest(size(original), size(target)), size(target))"
        ),
    },
    {
        "turns": f"max_step < {UNLIMITED} and size(ready) > 0 and leader != target[0]"
        " and array_contains(synced, target[0])",
        "ends": (
            "fits and (size(excess) = 0 or not fallen and size(missing) +"
            " size(array_intersect(target, synced)) >= floor and (size(target) >= least(size(current),"
            " size(original)) or size(array_except(array_except(target, missing), synced)) = 0))"
        ),
        # As many `added` as `dropped`, and the difference of the two lists.
        "wanted": "slice(leaving, 1, if(leads, 0, max_step))",
        "spare": "lasting - size(current)",
    },
    {
        "added": "least(size(ready), greatest(0, if(leads, 1, least(size(wanted) + spare, max_step))))",
    },
    # The new list is not shorter than the shorter one of `current` and `lasting`.
    {"dropped": "slice(wanted, 1, greatest(0, added + greatest(0, -spare)))"},
    # Min ISR: add more replicas, or drop fewer.
    {"staying": "size(array_except(synced, dropped))"},
    {"added": "least(size(ready), greatest(added, floor - staying))"},
    {
        "left": "added + staying",
        "members": "size(current) + added - size(dropped)",
        "losing": "size(array_intersect(dropped, synced))",
        "lagging": "size(array_except(dropped, synced))",
    },
    {
        "lacking": (
            "greatest(floor - left, if(losing = 0 or left >= least(min_isr, members), 0, min_isr - left))"
        )
    },
    {
        "dropped": "case when fallen then slice(dropped, 1, 0) when lacking <= 0 then dropped"
        " when lacking < losing then slice(dropped, 1, lagging + losing - lacking)"
        " else slice(dropped, 1, if(left + losing >= floor, lagging, 0)) end",
        "adding": "slice(ready, 1, added)",
    },
    # No replica can be dropped until more are in sync: add as many as the limit allows.
    {"adding": "if(size(adding) = 0 and size(dropped) = 0, slice(ready, 1, max_step), adding)"},
    {
        "next": (
            "case when turns then concat(array_intersect(target, current), excess) when ends then"
            " target when fits then if(size(missing) = 0, null, concat(target, excess)) when"
            " size(adding) = 0 and size(dropped) = 0 then null else concat(array_intersect(target,"
            " concat(current, adding)), array_except(excess, dropped)) end"
        )
    },
)
"""From `current, target, original, isr, offline` (arrays of broker ids), `leader`, `min_isr` and `max_step`
to `next`.

`max_step` is the limit R; `next` is null when nothing can change now.
"""

CALM = (
    "size(array_except(current, isr)) = 0 and least(min_isr, size(target)) <= size(current)"
    " and array_contains(current, leader)"
    " and not arrays_overlap(current, offline) and not arrays_overlap(target, offline)"
    " and (size(target) >= size(original) or size(current) = size(original))"
)
"""Condition of an unobstructed move: all brokers are online, all replicas in sync, and at least min ISR of
them.

A reassignment to a lower factor has not begun yet.
"""


def _added(step: str) -> str:
    """SQL for the replicas added by the end of a step that is neither the first nor the last."""
    left = (
        f"if(e >= m, greatest(e - {step} * r, 0) - greatest(e - m - {step} * r, 0), greatest(m -"
        f" {step} * r, 0))"
    )
    return f"if(lowers, greatest(first, least({step} * r, first + m)), first + m - ({left}))"


def _dropped(step: str) -> str:
    # A lower factor first exchanges replicas, in `swaps` steps, and then drops the others.
    rest = f"least(greatest({step} - swaps, 0) * r, e - exchanged)"
    return f"if(lowers, least({step} * r, exchanged) + {rest}, e - greatest(e - {step} * r, 0))"


SWAPS: Sequence[Stage] = (
    {
        "missing": "array_except(target, current)",
        "excess": "array_except(current, target)",
    },
    {
        "lowers": "size(target) < size(original)",
        "r": "least(max_step, size(target) + size(current))",
        "e": "size(excess)",
        "leaving": "concat(array_except(excess, array(leader)), array_intersect(excess, array(leader)))",
    },
    {
        "first": "if(greatest(size(missing), e) > r and not array_contains(current, target[0]), 1, 0)",
        "turn": f"if(max_step < {UNLIMITED} and size(missing) > 0 and leader != target[0]"
        " and array_contains(current, target[0]), 1, 0)",
    },
    {
        "lead": "first + turn",
        "m": "size(missing) - first",
        "exchanged": "if(size(missing) = first, 0, size(missing))",
    },
    {
        "swaps": "cast(ceil(exchanged / r) as int)",
        "begun": "if(lowers and exchanged > 0, least(r, exchanged), r)",
    },
    {
        # The first step keeps the leader as the source of the data. Later steps may drop it: its successor
        # leads.
        "leaving": "if(lead = 1, excess,"
        " concat(slice(leaving, 1, begun), array_except(excess, slice(leaving, 1, begun))))",
        "n": "lead + greatest(1, if(lowers and e > swaps * r, swaps + cast(ceil((e - exchanged) / r) as int),"
        " cast(ceil(greatest(m, e) / r) as int)))",
    },
)
"""The numbers of the closed form. `lead` steps (0 or 1) for a new leader come first; they add `first`
replicas. Each further step adds and drops up to `r` replicas, until `m` are added and `e` are dropped. `n` is
the number of all steps. `begun` replicas are dropped by the first step that drops any."""

CLOSED_FORM: Sequence[Stage] = (
    {
        "had": f"if(step = 1, 0, {_added('(step - 1 - lead)')})",
        "lost": f"if(step = 1, 0, {_dropped('(step - 1 - lead)')})",
        "added": f"if(step = n, first + m, {_added('(step - lead)')})",
        "dropped": f"if(step = n, e, {_dropped('(step - lead)')})",
    },
    {
        "replicas": "if(step = n, target, concat("
        "array_except(target, slice(missing, added + 1, size(missing))),"
        " array_except(excess, slice(leaving, 1, dropped))))",
        "adding": "slice(missing, had + 1, added - had)",
        "removing": "array_intersect(excess, slice(leaving, lost + 1, dropped - lost))",
        "successor": f"if(max_step < {UNLIMITED} or not array_contains(target, leader), target[0], leader)",
    },
    {"source": "if(step = 1, leader, successor)"},
    {"leader": "successor"},
)
"""Generate one row per step, from `step` = 1 to `n`."""

NO_LEADER_WAITS: Stage = {"next": "if(leader < 0 and (size(missing) > 0 or size(excess) > 0), null, next)"}
"""A partition without a leader waits: there is no replica to copy from."""

AFTER: Sequence[Stage] = (
    {
        "adding": "array_except(next, current)",
        "removing": "array_except(current, next)",
        "in_sync": "array_intersect(next, concat(isr, array_except(next, current)))",
        "source": "leader",
    },
    {"able": "array_except(in_sync, offline)"},
    {
        "leader": f"case when max_step < {UNLIMITED} and array_contains(able, target[0]) then target[0]"
        " when array_contains(able, leader) then leader"
        " when size(able) > 0 then able[0] else -1 end"
    },
)
"""The partition after the step to `next`, as `planner.model.step_table` sees it."""
