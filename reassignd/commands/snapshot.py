"""The verb `snapshot`: the cluster on paper, for `reassignd plan`."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reassignd.commands.options import FILE, JSON_ANYWAY, asks_server
from reassignd.errors import CommandError

if TYPE_CHECKING:
    from reassignd.client import Client

PARQUET = ".parquet"


@click.command()
@click.option(
    "--output",
    metavar="FILE",
    type=FILE,
    help="Where to write it: Parquet when the name ends with .parquet, else JSON lines.  [default: stdout]",
)
@JSON_ANYWAY
@asks_server
def snapshot(client: "Client", output: Path | None) -> None:
    """Write down brokers and partitions as JSON lines, for `reassignd plan`."""
    chunks = client.stream("/v1/snapshot")
    if output is None:
        for chunk in chunks:
            click.echo(chunk, nl=False)
        return
    try:
        _write(chunks, output)
    except OSError as error:
        raise CommandError(f"cannot write {output}: {error.strerror}") from error


def _write(chunks: Iterable[bytes], output: Path) -> None:
    """Whole or not at all."""
    draft = output.with_name(output.name + ".new")
    try:
        with draft.open("wb") as file:
            file.writelines(chunks)
        if output.suffix == PARQUET:
            from planner.snapshot import read_snapshot, write_snapshot

            write_snapshot(read_snapshot(draft), output)
        else:
            draft.replace(output)
    finally:
        draft.unlink(missing_ok=True)
