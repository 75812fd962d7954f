"""The command `state`: export, move and restore the records of gateways with several instances."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from reassignd.commands.confirm import YES, confirm
from reassignd.commands.help import examples
from reassignd.commands.options import FILE
from reassignd.commands.output import echo
from reassignd.commands.plan_file import content_of
from reassignd.config.settings import Settings
from reassignd.config.sources import Assignment, read_file, resolve

if TYPE_CHECKING:
    from reassignd.transfer.topic import Topic

R = TypeVar("R")

DIRECTORY = click.Path(path_type=Path, file_okay=False)

_OPTIONS = (
    click.option(
        "--config",
        metavar="FILE",
        type=FILE,
        help="Configuration file of `reassignd serve`, with the cluster and the topic.",
    ),
    click.option("--bootstrap-server", metavar="HOST:PORT,...", help="Some brokers of the cluster."),
    click.option("--command-config", metavar="FILE", help="Client properties, as for Kafka's own tools."),
    click.option("--state-topic", metavar="TOPIC", help="The topic.  [default: __reassignd_state]"),
    click.option(
        "--session-ms",
        metavar="MS",
        help="gateway.session.timeout.ms of the instances.  [default: 6000]",
    ),
)

KEYS = {
    "bootstrap_server": "upstream.bootstrap.servers",
    "command_config": "upstream.command.config",
    "state_topic": "state.topic",
    "session_ms": "gateway.session.timeout.ms",
}


@click.group(epilog=examples("reassignd state export --bootstrap-server kafka:9092 > state.jsonl"))
def state() -> None:
    """Export, move and restore the records in the state topic. `reassignd serve --state topic` uses it."""


def with_settings(command: Callable[..., R]) -> Callable[..., R]:
    """Add the options of the topic, and pass the settings as the first argument: None without a cluster."""

    @wraps(command)
    def run(config: Path | None, **values: object) -> R:
        given = {name: values.pop(name) for name in KEYS}
        assignments = [] if config is None else list(read_file(config))
        for name, value in given.items():
            if value is not None:
                assignments.append(Assignment(KEYS[name], str(value), f"--{name.replace('_', '-')}"))
        named = any(each.key == KEYS["bootstrap_server"] for each in assignments)
        fixed = [Assignment("backend", "upstream", ""), Assignment("state", "topic", "")]
        return command(resolve([*assignments, *fixed]) if named else None, **values)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run


@state.command(
    epilog=examples(
        "reassignd state export --bootstrap-server kafka:9092 > state.jsonl",
        "reassignd state export --config server.properties --data-dir /var/lib/reassignd",
    )
)
@with_settings
@click.option(
    "--data-dir",
    metavar="DIR",
    type=DIRECTORY,
    help="Move the records to this new data directory. No instance uses the topic afterwards.",
)
@click.option(
    "--from-data-dir", metavar="DIR", type=DIRECTORY, help="Print the records of a data directory instead."
)
@YES
def export(settings: Settings | None, data_dir: Path | None, from_data_dir: Path | None, yes: bool) -> None:
    """Print the rows of the topic as JSON lines, which is a backup; or move them to a data directory."""
    from reassignd.transfer import moves

    if from_data_dir is not None:
        if data_dir is not None:
            raise click.UsageError("--data-dir and --from-data-dir cannot be used together")
        for line in moves.export_directory(from_data_dir):
            sys.stdout.buffer.write(line)
    elif data_dir is not None:
        confirm(f"Move the records to {data_dir}, so that no instance uses the topic any more?", yes=yes)
        echo(_run(settings, lambda topic: moves.export_to_directory(topic, data_dir)))
    else:
        for line in _run(settings, moves.export_topic):
            sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


@state.command(
    "import",
    epilog=examples("reassignd state import --config server.properties --data-dir /var/lib/reassignd"),
)
@with_settings
@click.option(
    "--data-dir",
    metavar="DIR",
    type=DIRECTORY,
    required=True,
    help="The data directory of a stopped gateway. It cannot be used afterwards.",
)
@YES
def import_(settings: Settings | None, data_dir: Path, yes: bool) -> None:
    """Move the records of a data directory into the topic, which is created if it does not exist."""
    from reassignd.transfer import moves

    confirm(f"Move the records into the topic, so that {data_dir} cannot be used any more?", yes=yes)
    echo(_run(settings, lambda topic: moves.import_directory(topic, data_dir), create=True))


@state.command(epilog=examples("reassignd state recreate --config server.properties state.jsonl"))
@with_settings
@click.argument("rows_file", metavar="FILE", type=FILE)
def recreate(settings: Settings | None, rows_file: Path) -> None:
    """Write the rows of `reassignd state export` into a new topic, after the old one was deleted.

    FILE is the output of the export, or - for stdin.
    """
    from reassignd.transfer import moves

    text = content_of(rows_file)
    echo(_run(settings, lambda topic: moves.recreate(topic, text.splitlines()), create=True))


def _run(settings: Settings | None, act: "Callable[[Topic], Awaitable[R]]", *, create: bool = False) -> R:
    from reassignd.transfer.topic import connected

    if settings is None:
        raise click.UsageError(
            "give --bootstrap-server, or --config with a file that has upstream.bootstrap.servers"
        )

    async def run(settings: Settings) -> R:
        async with connected(settings, create=create) as topic:
            return await act(topic)

    return asyncio.run(run(settings))
