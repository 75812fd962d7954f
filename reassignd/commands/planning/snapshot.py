"""The command `snapshot`: save the cluster for `reassignd plan` and `reassignd propose`."""

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reassignd.commands.options import FILE, FORMAT_IGNORED, with_client
from reassignd.commands.planning.cluster_source import Source, with_kafka
from reassignd.errors import CommandError

if TYPE_CHECKING:
    from reassignd.client import Client

PARQUET = ".parquet"


@click.command()
@click.option(
    "--output",
    metavar="FILE",
    type=FILE,
    help="Output file: Parquet if the name ends with .parquet, else JSON lines.  [default: stdout]",
)
@with_kafka
@FORMAT_IGNORED
@with_client
def snapshot(
    client: "Client", output: Path | None, bootstrap_server: str | None, command_config: Path | None
) -> None:
    """Print all brokers and partitions as JSON lines, for `reassignd plan` and `reassignd propose`."""
    source = Source(None, bootstrap_server, command_config)
    source.check()
    chunks = source.chunks(client)
    if output is None:
        for chunk in chunks:
            click.echo(chunk, nl=False)
        return
    try:
        _write(chunks, output)
    except OSError as error:
        raise CommandError(f"cannot write {output}: {error.strerror}") from error


def _write(chunks: Iterable[bytes], output: Path) -> None:
    """Write a temporary file first and rename it, so that the output is never incomplete.

    Nobody can know its name before: in a directory of all users, another one could put a link there.
    """
    name = f".{secrets.token_hex(8)}.{output.name}"
    temporary, table = output.with_name(f"{name}.lines"), output.with_name(name)
    try:
        with temporary.open("xb") as file:
            file.writelines(chunks)
        if output.suffix == PARQUET:
            from planner.snapshot import read_snapshot, write_snapshot

            write_snapshot(read_snapshot(temporary), table)
            table.replace(output)
        else:
            temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)
        table.unlink(missing_ok=True)
