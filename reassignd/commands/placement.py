"""The command `placement`: brokers that new partitions are not placed on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from common.wording import as_json
from planner.proposing import read_broker_ids
from reassignd.commands.completion import broker_numbers
from reassignd.commands.help import examples
from reassignd.commands.options import FORMAT, JSON, with_client
from reassignd.commands.output import echo

if TYPE_CHECKING:
    from reassignd.client import Client


def _brokers(_: click.Context, __: click.Parameter, text: str | None) -> list[int]:
    try:
        return [] if text is None else read_broker_ids(text)
    except ValueError as error:
        raise click.BadParameter(f"'{text}', {error}") from error


@click.command(epilog=examples("reassignd placement --exclude 3,4", "reassignd placement --allow 3"))
@click.option(
    "--exclude",
    metavar="ID,ID,...",
    callback=_brokers,
    shell_complete=broker_numbers,
    help="Place no new partitions on these.",
)
@click.option(
    "--allow",
    metavar="ID,ID,...",
    callback=_brokers,
    shell_complete=broker_numbers,
    help="Place partitions on these again.",
)
@FORMAT
@with_client
def placement(client: "Client", output_format: str, exclude: Sequence[int], allow: Sequence[int]) -> None:
    """Show or change the brokers that new partitions are not placed on.

    `propose drain --execute` excludes the drained brokers, and `propose add --execute` ends it. It is
    durable.
    """
    if exclude or allow:
        answer = client.post("/v1/placement", {"exclude": exclude, "allow": allow})
    else:
        answer = client.get("/v1/placement")
    for note in answer["notes"]:
        echo(f"reassignd: {note}", err=True)
    if output_format == JSON:
        echo(as_json(answer))
    elif answer["excluded"]:
        echo(f"New partitions are not placed on: {', '.join(map(str, answer['excluded']))}")
    else:
        echo("New partitions can be placed on all brokers.")
