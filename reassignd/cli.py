"""The command line.

Exit codes: 0 success, 1 failed or not complete, 2 invalid arguments or settings, 3 timed out.

A failure prints one line on stderr. The module of a subcommand is imported when the subcommand runs, so
`reassignd --version` does not import the server.
"""

import os
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from common.wording import printable
from reassignd.config.errors import CommandError, ConfigError, SettingError
from reassignd.config.settings import FLAGS, KEYS
from reassignd.config.sources import Assignment, parse_override, read_environment, read_file, resolve
from reassignd.config.version import __version__

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])


def _settings_options(command: CommandFunction) -> CommandFunction:
    """Add one option for each setting that has a flag."""
    for flag, name in reversed(FLAGS.items()):
        key = KEYS[name]
        text = f"{key.doc} [{name}, default {key.default or 'none'}]"
        command = click.option(flag, name.replace(".", "_"), metavar=key.kind.metavar, help=text)(command)
    return command


GROUPS = {
    "See what happens": {
        "status": "status",
        "jobs": "jobs",
        "job": "jobs",
        "brokers": "brokers",
        "topics": "topics",
        "load": "load",
        "list": "jobs",
        "audit": "audit",
        "instances": "status",
    },
    "Make a plan": {
        "propose": "propose",
        "plan": "plan",
        "snapshot": "cluster_source",
    },
    "Move partitions": {
        "execute": "execute",
        "queue": "queue",
        "cancel": "cancel",
        "rollback": "cancel",
        "drained": "drained",
    },
    "Steer what moves": {
        "limits": "limits",
        "schedule": "schedule",
        "pause": "jobs",
        "resume": "jobs",
        "priority": "jobs",
        "throttle": "jobs",
        "placement": "placement",
    },
    "Run a server": {
        "serve": "",
        "state": "state",
        "zk": "zk",
        "broker": "broker",
    },
    "Set up this command": {
        "context": "context",
    },
}
"""Groups of the help: command -> module in `reassignd.commands` that defines a click command of that name
(`list_` for `list`). `serve` is in this module."""

SUBCOMMANDS = {name: module for group in GROUPS.values() for name, module in group.items() if module}


LINE = 200
"""Length of a description that is not cut."""

MOST_FAULTS = 20
"""Wrong entries of a plan that are printed besides the first one."""


class LazyGroup(click.Group):
    """Group that imports the module of a subcommand on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *SUBCOMMANDS])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in groups; descriptions are not cut."""
        width = max(len(name) for group in GROUPS.values() for name in group)
        for title, group in GROUPS.items():
            found = [(name.ljust(width), self.get_command(ctx, name)) for name in group]
            with formatter.section(title):
                formatter.write_dl([(name, each.get_short_help_str(LINE)) for name, each in found if each])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            similar = get_close_matches(name, self.list_commands(ctx), 1)
            hint = f"did you mean {similar[0]}?" if similar else "`reassignd --help` lists the commands"
            raise click.UsageError(f"there is no command '{name[:40]}'; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"reassignd.commands.{SUBCOMMANDS[cmd_name]}")
        command = getattr(module, {"list": "list_"}.get(cmd_name, cmd_name))
        if not isinstance(command, click.Command):
            raise TypeError(f"{module.__name__} has no command {cmd_name}")
        return command


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    epilog="\b\nExamples:\n"
    "  reassignd status\n"
    "  reassignd propose drain 3 --dry-run\n"
    "  reassignd execute plan.json --throttle 50MB --wait\n"
    "  reassignd COMMAND --help",
)
@click.version_option(__version__, prog_name="reassignd", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Execute partition reassignments of Apache Kafka in steps, with limits, cancellation and rollback."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command(
    epilog="\b\nExamples:\n"
    "  reassignd serve --backend embedded --demo-topics\n"
    "  reassignd serve --backend upstream --config /etc/reassignd/server.properties\n"
    "  reassignd serve --config server.properties --check-config"
)
@_settings_options
@click.option(
    "--config", metavar="FILE", type=click.Path(path_type=Path), help="A .properties file with settings."
)
@click.option(
    "--override",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="A single setting. Can be given more than once.",
)
@click.option(
    "--demo-topics", is_flag=True, help="Create a few topics on the first start of the embedded cluster."
)
@click.option(
    "--check-config",
    is_flag=True,
    help="Check the settings and the files that they name, show them, and exit.",
)
def serve(
    config: Path | None,
    overrides: Sequence[str],
    demo_topics: bool,
    check_config: bool,
    **flags: str | None,
) -> None:
    """Run the server until SIGTERM or SIGINT.

    Precedence of settings: options, then --override, then environment variables, then the file of --config,
    then defaults. The variable of log.level is REASSIGND_LOG_LEVEL.
    """
    assignments = [] if config is None else list(read_file(config))
    assignments += read_environment(os.environ)
    assignments += map(parse_override, overrides)
    for flag, name in FLAGS.items():
        value = flags[name.replace(".", "_")]
        if value is not None:
            assignments.append(Assignment(name, value, flag))
    settings = resolve(assignments)
    if check_config:
        from reassignd.check_config import check, described

        check(settings)
        click.echo(
            "".join(f"{line}\n" for line in described(assignments))
            + "the settings are valid; no connection was tried"
        )
        return

    from reassignd.serve import run

    run(settings, demo_topics=demo_topics)


COMPLETES = "_REASSIGND_COMPLETE"
"""The variable by which a shell asks for its script, or for completions."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    if COMPLETES in os.environ:
        from reassignd.completion_scripts import use_own_scripts

        use_own_scripts()
    try:
        code = cli.main(arguments, prog_name="reassignd", standalone_mode=False)
    except click.NoSuchOption as error:
        is_number = error.option_name.lstrip("-").isdecimal()
        hint = " Write -- before a negative number." if is_number else ""
        return _print_error(error.format_message() + hint, error.exit_code)
    except click.ClickException as error:
        return _print_error(error.format_message(), error.exit_code)
    except (ConfigError, SettingError) as error:
        return _print_error(str(error), 2)
    except CommandError as error:
        return _print_error(str(error), 1, error.faults[1:])
    except (click.Abort, KeyboardInterrupt):
        return _print_error("interrupted", 1)
    return code if isinstance(code, int) else 0


def _print_error(text: str, code: int, more: Sequence[str] = ()) -> int:
    """Print the text, and a line for each of the first further faults."""
    lines = [text, *more[:MOST_FAULTS]]
    if len(more) > MOST_FAULTS:
        lines.append(f"and more: --verbose and --format json name {len(more) + 1:,}")
    for each in lines:
        print(f"reassignd: {printable(' '.join(each.split()))}", file=sys.stderr)
    return code
