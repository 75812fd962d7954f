"""The command line. Exit codes: 0 done, 1 failed, 2 not understood; the last two with one line on stderr.

What a verb needs is imported when it runs: `reassignd --version` must not pay for the server.
"""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from reassignd import __version__
from reassignd.config.config import FLAGS, KEYS, Assignment, parse_override, read_file, resolve
from reassignd.errors import CommandError, ConfigError
from reassignd.printable import printable

F = TypeVar("F", bound=Callable[..., Any])


def _flags(command: F) -> F:
    for flag, name in reversed(FLAGS.items()):
        key = KEYS[name]
        text = f"{key.doc} [{name}, default {key.default or 'none'}]"
        command = click.option(flag, name.replace(".", "_"), metavar=key.kind.metavar, help=text)(command)
    return command


VERBS = {
    "broker": "brokers",
    "cancel": "take_back",
    "execute": "execute",
    "job": "show",
    "jobs": "show",
    "limits": "limits",
    "list": "show",
    "pause": "steer",
    "plan": "plan",
    "priority": "steer",
    "queue": "queue",
    "resume": "steer",
    "rollback": "take_back",
    "snapshot": "snapshot",
    "status": "status",
    "zk": "zk",
}
"""Verb -> its module in `reassignd.commands`, which has a command of that name (`list_` for `list`)."""


class Verbs(click.Group):
    """Imports a verb when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *VERBS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"reassignd.commands.{VERBS[cmd_name]}")
        command = getattr(module, {"list": "list_"}.get(cmd_name, cmd_name))
        if not isinstance(command, click.Command):
            raise TypeError(f"{module.__name__} has no command {cmd_name}")
        return command


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=False)
@click.version_option(__version__, prog_name="reassignd", message="%(prog)s %(version)s")
def cli() -> None:
    """Partition reassignments for Apache Kafka: durable, in steps, and with a way back."""


@cli.command()
@_flags
@click.option(
    "--config", metavar="FILE", type=click.Path(path_type=Path), help="A .properties file to start from."
)
@click.option(
    "--override", "overrides", metavar="KEY=VALUE", multiple=True, help="One setting; may come repeatedly."
)
@click.option("--demo-topics", is_flag=True, help="Create a few topics on the first start, to try things on.")
def serve(config: Path | None, overrides: Sequence[str], demo_topics: bool, **flags: str | None) -> None:
    """Serve Kafka's admin protocol until SIGTERM or SIGINT.

    A flag counts before an override, an override before the file, and the file before the defaults.
    """
    assignments = [] if config is None else list(read_file(config))
    assignments += map(parse_override, overrides)
    for flag, name in FLAGS.items():
        value = flags[name.replace(".", "_")]
        if value is not None:
            assignments.append(Assignment(name, value, flag))
    settings = resolve(assignments)

    from reassignd.serve import run

    run(settings, demo_topics=demo_topics)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    try:
        code = cli.main(arguments, prog_name="reassignd", standalone_mode=False)
    except click.ClickException as error:
        return _complain(error.format_message(), error.exit_code)
    except ConfigError as error:
        return _complain(str(error), 2)
    except CommandError as error:
        return _complain(str(error), 1)
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted", 1)
    return code if isinstance(code, int) else 0


def _complain(text: str, code: int) -> int:
    line = printable(" ".join(text.split()))
    print(f"reassignd: {line}", file=sys.stderr)
    return code
