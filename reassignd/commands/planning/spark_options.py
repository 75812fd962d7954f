"""The options that say where Spark runs."""

from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, TypeVar

import click

from planner.spark import LOCAL, obstacle, submitted
from reassignd.errors import CommandError

R = TypeVar("R")

REMOTE = click.option("--remote", metavar="sc://HOST:PORT", help="Spark Connect server, instead of a master.")


class Where(NamedTuple):
    """A Spark master or a Spark Connect server; without both, and outside of spark-submit, Spark is not asked for."""

    master: str | None = None
    remote: str | None = None

    @property
    def asked(self) -> bool:
        """Whether Spark is asked for."""
        return any(self) or submitted()

    def check(self) -> None:
        """Raise CommandError if something must be installed first."""
        if (reason := obstacle(self.remote or self.master or LOCAL)) is not None:
            raise CommandError(f"no Spark: {reason}")


def with_spark(master_help: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Add --master and --remote to a command, and pass them as `where`."""

    def decorate(command: Callable[..., R]) -> Callable[..., R]:
        @wraps(command)
        def run(*arguments: object, master: str | None, remote: str | None, **values: object) -> R:
            if None not in (master, remote):
                raise click.UsageError("--master and --remote cannot be used together")
            return command(*arguments, where=Where(master, remote), **values)

        return click.option("--master", metavar="URL", help=master_help)(REMOTE(run))

    return decorate
