"""The command `placement`: brokers and log directories that nothing new is placed on."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from common.wording import as_json
from controller.cluster.config_keys import broker_dirs
from controller.model.disks import BrokerDir, read_dirs
from planner.proposing import read_broker_ids
from reassignd.commands.completion import broker_numbers
from reassignd.commands.help import examples
from reassignd.commands.options import FORMAT, JSON, with_client
from reassignd.commands.output import echo

if TYPE_CHECKING:
    from reassignd.client import Client


class Places(NamedTuple):
    """Brokers, and log directories."""

    brokers: Sequence[int] = ()
    dirs: Sequence[BrokerDir] = ()


def _places(_: click.Context, __: click.Parameter, text: str | None) -> Places:
    items = [] if text is None else text.split(",")
    brokers, dirs = (",".join(item for item in items if (":" in item) is named) for named in (False, True))
    if expected := broker_dirs(dirs):
        raise click.BadParameter(f"'{text}', expected broker ids and {expected}")
    try:
        return Places(read_broker_ids(brokers) if brokers else (), read_dirs(dirs))
    except ValueError as error:
        raise click.BadParameter(f"'{text}', {error}") from error


@click.command(epilog=examples("reassignd placement --exclude 3,4", "reassignd placement --allow 3:/data2"))
@click.option(
    "--exclude",
    metavar="ID,ID:DIR,...",
    callback=_places,
    shell_complete=broker_numbers,
    help="Place nothing new on these.",
)
@click.option(
    "--allow",
    metavar="ID,ID:DIR,...",
    callback=_places,
    shell_complete=broker_numbers,
    help="Place partitions and replicas on these again.",
)
@FORMAT
@with_client
def placement(client: "Client", output_format: str, exclude: Places, allow: Places) -> None:
    """Show or change the brokers and log directories that nothing new is placed on.

    `propose drain --execute` excludes the drained brokers, and `propose add --execute` ends it;
    `propose disks --empty BROKER:DIR --execute` excludes the emptied directories. It is durable.
    """
    if any((*exclude, *allow)):
        answer = client.post("/v1/placement", _body("exclude", exclude) | _body("allow", allow))
    else:
        answer = client.get("/v1/placement")
    show_notes(answer["notes"])
    if output_format == JSON:
        echo(as_json(answer))
    else:
        _show(answer)


def show_notes(notes: Sequence[str]) -> None:
    """Print where Kafka does not cordon, or still cordons, what was asked for."""
    for note in notes:
        echo(f"reassignd: {note}", err=True)


def named(dirs: Sequence[BrokerDir]) -> list[dict[str, Any]]:
    """Return the directories in the form of the API."""
    return [{"broker": broker, "dir": path} for broker, path in dirs]


def _body(name: str, places: Places) -> dict[str, Any]:
    return {name: places.brokers, f"{name}_dirs": named(places.dirs)}


def _show(answer: Mapping[str, Any]) -> None:
    if answer["excluded"]:
        echo(f"New partitions are not placed on: {', '.join(map(str, answer['excluded']))}")
    else:
        echo("New partitions can be placed on all brokers.")
    if dirs := [f"{each['broker']}:{each['dir']}" for each in answer["excluded_dirs"]]:
        echo(f"New replicas are not placed in: {', '.join(dirs)}")
