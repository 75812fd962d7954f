"""Options of commands that print a part of a long list: which rows, in which order, and how many."""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import NamedTuple, TypeVar

import click
from click.core import ParameterSource

from common.wording import counted
from reassignd.commands.options import Integer
from reassignd.commands.table import Row

R = TypeVar("R")

MOST_ROWS = 10_000


class Rows(NamedTuple):
    """The rows that are asked for."""

    search: str | None
    sort: str | None
    descending: bool
    limit: int
    offset: int

    @property
    def query(self) -> dict[str, object]:
        """Return the parameters of the API; None for those that are not given."""
        descending = True if self.descending else None
        query = {"q": self.search, "sort": self.sort, "descending": descending}
        return {**query, "limit": self.limit, "offset": self.offset}


DESCENDING = click.option("--descending", is_flag=True, help="Reverse the order.")
OFFSET = click.option(
    "--offset", metavar="N", type=Integer(0), default=0, help="Number of rows to skip.  [default: 0]"
)


def limit(rows: int) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Return the option --limit with this default."""
    text = f"Maximum number of rows.  [default: {rows}]"
    return click.option("--limit", metavar="N", type=Integer(0, MOST_ROWS), default=rows, help=text)


def with_rows(
    noun: str, searched: str, sorts: Sequence[str]
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Add --search, --sort, --descending, --limit and --offset, and pass them as `rows`.

    `searched` is what of the noun contains the text; the first of `sorts` is the default.
    """
    search = f"Only {noun}s whose {searched} contains this text."
    sort = f"The order of the {noun}s.  [default: {sorts[0]}]"
    options = (
        click.option("--search", metavar="TEXT", help=search),
        click.option("--sort", type=click.Choice(sorts), help=sort),
        DESCENDING,
        limit(50),
        OFFSET,
    )

    def decorated(command: Callable[..., R]) -> Callable[..., R]:
        @wraps(command)
        def run(*arguments: object, **values: object) -> R:
            rows = Rows._make(values.pop(name) for name in Rows._fields)
            return command(*arguments, rows=rows, **values)

        for option in reversed(options):
            run = option(run)
        return run

    return decorated


def refuse_given(names: Sequence[str], why: str) -> None:
    """Raise UsageError that names the options among these that are given, which would have no effect."""
    context = click.get_current_context()
    given = [
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name in names
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{' and '.join(given)}: {why}")


def more_lines(answer: Row, total: str, noun: str) -> Iterator[str]:
    """Yield how to get the rows after those of the answer, if there are some; `total` is their number."""
    if answer["next"] is not None:
        yield f"More of {counted(answer[total], noun)}: --offset {answer['next']}"
