"""Completion of arguments in shells: jobs, brokers and topics of the server; goals, limits and contexts.

A shell waits for the answer: it is bounded in time and in rows, and empty without a server.
"""

from typing import Any

import click
from click.shell_completion import CompletionItem

from controller.scheduling.limits import ALIASES, LIMITS
from reassignd.commands.target import target_of
from reassignd.config.contexts import read_contexts
from reassignd.config.errors import CommandError

SECONDS = 1.0
"""A shell should not wait longer for the server."""

MOST = 100
"""Names that are asked for."""

GOALS = {
    "drain": "leave no replica on brokers",
    "demote": "let other replicas lead instead of brokers",
    "relieve": "take load off brokers whose disks are too full",
    "add": "fill new brokers",
    "balance": "even out replicas and preferred leaders",
    "rf": "change the replication factor",
    "racks": "obey the rack rule",
    "repair": "replace the replicas that are lost",
    "leaders": "even out preferred leaders",
    "disks": "even out or empty log directories of brokers",
}
OF_BROKERS = frozenset({"drain", "demote", "relieve", "add", "disks"})
"""Goals whose value is broker ids."""


def job_numbers(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the numbers of the newest jobs of the server, with their state."""
    return [
        CompletionItem(str(job["id"]), help=f"{job['state']}, {job['total']:,} partitions")
        for job in _rows(ctx, "jobs", limit=50)
        if str(job["id"]).startswith(incomplete)
    ]


def broker_numbers(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the ids of brokers; after a comma the next one of a list."""
    before, comma, start = incomplete.rpartition(",")
    return [
        CompletionItem(before + comma + str(broker["id"]), help=_rack_and_state(broker))
        for broker in _rows(ctx, "brokers", limit=MOST, q=start or None)
        if str(broker["id"]).startswith(start) and str(broker["id"]) not in before.split(",")
    ]


def topic_names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of topics."""
    return [
        CompletionItem(topic["topic"], help=f"{topic['partitions']:,} partitions")
        for topic in _rows(ctx, "topics", limit=MOST, q=incomplete or None)
        if topic["topic"].startswith(incomplete)
    ]


def goal_words(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the goals of `propose` that are not given yet, or the brokers of the last one."""
    given = ctx.params.get("goals") or ()
    if given and given[-1] in OF_BROKERS:
        return broker_numbers(ctx, parameter, incomplete)
    if given and given[-1] == "rf":
        return [CompletionItem(each) for each in "123" if each.startswith(incomplete)]
    return [
        CompletionItem(goal, help=meaning)
        for goal, meaning in GOALS.items()
        if goal.startswith(incomplete) and goal not in given
    ]


def context_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of contexts."""
    try:
        known = read_contexts().by_name
    except CommandError:
        return []
    return [
        CompletionItem(name, help=known[name].url) for name in sorted(known) if name.startswith(incomplete)
    ]


def limit_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of limits, each with `=`.

    The short names come first, then the configs, also those of KIP-435.
    """
    short = [CompletionItem(f"{limit.name}=", help=limit.meaning) for limit in LIMITS]
    configs = [
        CompletionItem(f"{name}=")
        for name in (
            *("throttle", "pace", "pace.ms", "pace.factor"),
            *(limit.config for limit in LIMITS),
            *ALIASES,
        )
    ]
    return [item for item in (*short, *configs) if item.value.lower().startswith(incomplete.lower())]


def _rows(ctx: click.Context, what: str, **query: object) -> list[dict[str, Any]]:
    """Return the rows of `/v1/WHAT`; none without a server that answers in time."""
    import httpx

    from reassignd.client import Client

    names = ("url", "context_name", "token_file", "ca_file", "certificate_file")
    given = (ctx.params.get(name) for name in names)
    try:
        with Client(target_of(*given), httpx.Timeout(SECONDS)) as client:
            rows: list[dict[str, Any]] = client.get(f"/v1/{what}", **query)[what]
            return rows
    except CommandError:
        return []


def _rack_and_state(broker: dict[str, Any]) -> str:
    rack = f"rack {broker['rack']}, " if broker["rack"] else ""
    return rack + str(broker["state"])
