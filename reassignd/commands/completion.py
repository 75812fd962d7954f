"""Completion of arguments in shells: numbers of jobs, and names of limits."""

import os
from typing import Any

import click
from click.shell_completion import CompletionItem

from controller.scheduling.limits import ALIASES, LIMITS
from reassignd.commands.options import DEFAULT_URL

SECONDS = 2.0
"""A shell should not wait longer for the server."""


def job_numbers(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the numbers of the newest jobs of the server, with their state; nothing without a server."""
    return [
        CompletionItem(str(job["id"]), help=f"{job['state']}, {job['total']:,} partitions")
        for job in _jobs(ctx)
        if str(job["id"]).startswith(incomplete)
    ]


def limit_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of limits, each with `=`.

    The short names first, then the configs, also those of KIP-435.
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


def _jobs(ctx: click.Context) -> list[dict[str, Any]]:
    from pathlib import Path

    import httpx

    from reassignd.client import Client, Target
    from reassignd.config.errors import CommandError

    given = ctx.params
    token = given.get("token_file") or os.environ.get("REASSIGND_TOKEN_FILE")
    url = given.get("url") or os.environ.get("REASSIGND_URL") or DEFAULT_URL
    target = Target(
        url, None if token is None else Path(token), given.get("ca_file"), given.get("certificate_file")
    )
    try:
        with Client(target, httpx.Timeout(SECONDS)) as client:
            jobs: list[dict[str, Any]] = client.get("/v1/jobs", limit=50)["jobs"]
            return jobs
    except CommandError:
        return []
