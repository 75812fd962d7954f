"""Options shared by the commands, and the client of commands that use a running server."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TypeVar

import click
from click.core import ParameterSource

from common.plan_errors import PlanError
from common.rates import read_rate
from common.wording import counted
from controller.scheduling.limits import limits_text, parse_limits
from reassignd.commands.completion import context_names
from reassignd.commands.target import DEFAULT_URL, target_of

R = TypeVar("R")

FILE = click.Path(path_type=Path)
TINY = 10_000
"""Bytes per second below which a rate is probably meant to have a unit."""
JSON = "json"

PLAN_FILE = click.option(
    "--reassignment-json-file",
    "plan_file",
    metavar="PLAN",
    type=FILE,
    required=True,
    help="The plan, in the format of kafka-reassign-partitions; - for stdin.",
)


class Integer(click.IntRange):
    """An integer in a range. The error for another text says `is not a valid integer`."""

    name = "integer"


VERBOSE = click.option(
    "--verbose", is_flag=True, help="Print a line for each partition that was refused or skipped."
)

WAIT = click.option(
    "--wait",
    is_flag=True,
    help="Show progress until the job has ended. Exit with 1 if a partition did not reach its target, and"
    " with 3 after --timeout.",
)
TIMEOUT = click.option(
    "--timeout", metavar="SECONDS", type=click.FloatRange(min=0), help="With --wait: give up after this time."
)

FORMAT = click.option(
    "-o",
    "--format",
    "output_format",
    type=click.Choice(["text", JSON]),
    default="text",
    help="Output format: text, or the JSON of the API.  [default: text]",
)
FORMAT_IGNORED = click.option(
    "-o",
    "--format",
    type=click.Choice(["text", JSON]),
    expose_value=False,
    help="Ignored: the output is always JSON.",
)

_CONNECTION_OPTIONS = (
    click.option(
        "--url",
        metavar="URL",
        envvar="REASSIGND_URL",
        help="URL of the server's HTTP listener, or unix:PATH.  [env: REASSIGND_URL, default: that of the"
        f" context, else {DEFAULT_URL}]",
    ),
    click.option(
        "--context",
        "context_name",
        metavar="NAME",
        envvar="REASSIGND_CONTEXT",
        shell_complete=context_names,
        help="Use this context, see `reassignd context`.  [env: REASSIGND_CONTEXT]",
    ),
    click.option(
        "--token-file",
        metavar="FILE",
        type=FILE,
        envvar="REASSIGND_TOKEN_FILE",
        help="File with the bearer token.  [env: REASSIGND_TOKEN_FILE]",
    ),
    click.option(
        "--ca-file",
        metavar="FILE",
        type=FILE,
        help="PEM file with the certificate authorities to trust for https.",
    ),
    click.option(
        "--certificate-file",
        metavar="FILE",
        type=FILE,
        help="PEM file with a client certificate and its key.",
    ),
)


def _own_limits(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
    try:
        return given if given is None else limits_text(parse_limits(given)) or None
    except PlanError as error:
        raise click.BadParameter(str(error)) from error


OWN_LIMITS = click.option(
    "--limits",
    metavar="NAME=N,...",
    callback=_own_limits,
    help="Limits of this job's own, such as P=20,B=2; those of the cluster apply too. `reassignd limits`"
    " explains the names.",
)


def with_client(command: Callable[..., R]) -> Callable[..., R]:
    """Add the options of the connection, and pass an open client as the first argument."""

    @wraps(command)
    def run(
        url: str | None,
        context_name: str | None,
        token_file: Path | None,
        ca_file: Path | None,
        certificate_file: Path | None,
        **parameters: object,
    ) -> R:
        from reassignd.client import Client

        given = click.get_current_context().get_parameter_source("context_name")
        if given is ParameterSource.COMMANDLINE:
            source = click.get_current_context().get_parameter_source("url")
            if source is ParameterSource.COMMANDLINE:
                raise click.UsageError("--url and --context cannot be used together")
            url = None
        with Client(target_of(url, context_name, token_file, ca_file, certificate_file)) as client:
            return command(client, **parameters)

    for option in reversed(_CONNECTION_OPTIONS):
        run = option(run)
    return run


def with_plan(command: Callable[..., R]) -> Callable[..., R]:
    """Add the plan as an argument or as an option, and pass its path as `plan_file`."""

    @wraps(command)
    def run(
        *arguments: object, plan_argument: Path | None, plan_option: Path | None, **parameters: object
    ) -> R:
        if (plan_argument is None) == (plan_option is None):
            raise click.UsageError("give the plan: a file, or - for stdin")
        return command(*arguments, plan_file=plan_argument or plan_option, **parameters)

    option = click.option(
        "--reassignment-json-file",
        "plan_option",
        metavar="PLAN",
        type=FILE,
        help="The same as PLAN, as for kafka-reassign-partitions.",
    )
    return click.argument("plan_argument", metavar="[PLAN]", type=FILE, required=False)(option(run))


def read_throttle(text: str) -> int:
    """Read a rate. A small number without a unit is refused: it is in force at once, and all but stops moves.

    Raises ValueError.
    """
    found = read_rate(text)
    if 0 < found < TINY and text.strip().isdecimal():
        raise ValueError(f"which is {counted(found, 'byte')} per second: write {found}MB, or {found}B")
    return found


def rate(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """Read the value of an option: a rate from one byte per second on."""
    if text is None:
        return None
    try:
        found = read_throttle(text)
    except ValueError as error:
        raise click.BadParameter(f"'{text}', {error}") from error
    if not 1 <= found < 2**63:
        raise click.BadParameter(f"'{text}', expected at least 1 byte per second")
    return found


def rate_or_none(context: click.Context, parameter: click.Parameter, text: str) -> int | None:
    """Read the value of an argument: a rate, or the word none."""
    return None if text == "none" else rate(context, parameter, text)
