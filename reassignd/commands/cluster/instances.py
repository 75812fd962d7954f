"""The command `instances`: the instances before the cluster, and the hand-over to another one."""

from typing import TYPE_CHECKING, Any

import click

from common.wording import as_json
from reassignd.commands.options import FORMAT, JSON, with_client
from reassignd.commands.text import columns, echo, when

if TYPE_CHECKING:
    from reassignd.client import Client

HAND_OVER = "hand-over"


@click.command()
@click.argument("action", metavar="[hand-over]", type=click.Choice([HAND_OVER]), required=False)
@FORMAT
@with_client
def instances(client: "Client", output_format: str, action: str | None) -> None:
    """Show the instances of reassignd that share a state topic: who is active, since when, and who follows.

    With hand-over, the active instance ends its term, and a standby takes over within a second or two.
    """
    if action == HAND_OVER:
        answer = client.ask("POST", "/v1/instances/hand-over", {})
        text = f"handed over: a standby becomes active (of {answer['standbys']})"
        echo(as_json(answer) if output_format == JSON else text)
        return
    answer = client.get("/v1/instances")
    if output_format == JSON:
        echo(as_json(answer))
        return
    echo(f"term {answer['term']}, active since {when(answer['active_since_ms'])}")
    head = ("instance", "role", "version", "started", "lag", "URL")
    echo("\n".join(columns(head, map(_cells, answer["instances"]))))


def _cells(row: dict[str, Any]) -> tuple[object, ...]:
    role = "active" if row["active"] else "standby"
    return (row["id"], role, row["version"], when(row["started_ms"]), row["lag"], row["url"])
