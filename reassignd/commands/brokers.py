"""The verb `broker`: stop, start, slow and break brokers of the embedded cluster."""

from typing import TYPE_CHECKING, Any

import click

from reassignd.commands.options import FORMAT, JSON, asks_server
from reassignd.commands.text import columns, say
from reassignd.printable import as_json

if TYPE_CHECKING:
    from reassignd.client import Client

BROKER = click.argument("number", metavar="BROKER", type=click.IntRange(0))


@click.group()
def broker() -> None:
    """Brokers of the embedded cluster: see what becomes of a reassignment when they fail."""


@broker.command("list")
@FORMAT
@asks_server
def list_(client: "Client", form: str) -> None:
    """List them, with their log directories."""
    answer = client.get("/v1/brokers")
    if form == JSON:
        say(as_json(answer))
        return
    for line in columns(("broker", "state", "address", "rack", "log dirs"), map(_cells, answer["brokers"])):
        say(line)


@broker.command()
@BROKER
@click.option("--crash", is_flag=True, help="At once, its leaderships not moved away first.")
@FORMAT
@asks_server
def stop(client: "Client", form: str, number: int, crash: bool) -> None:
    """Stop a broker."""
    answer = client.post(f"/v1/brokers/{number}/stop", controlled=not crash)
    _say(form, answer, f"Broker {number} has stopped.")


@broker.command()
@BROKER
@FORMAT
@asks_server
def start(client: "Client", form: str, number: int) -> None:
    """Start a stopped broker, with the data it had; broken disks are replaced by empty ones."""
    _say(form, client.post(f"/v1/brokers/{number}/start"), f"Broker {number} runs.")


@broker.command()
@BROKER
@click.argument("factor", metavar="FACTOR", type=click.FloatRange(0, 1000))
@FORMAT
@asks_server
def slow(client: "Client", form: str, number: int, factor: float) -> None:
    """Scale a broker's network: 0 makes it stuck, 1 makes it whole again."""
    answer = client.post(f"/v1/brokers/{number}/slow", {"factor": factor})
    _say(form, answer, f"Broker {number} has its network times {factor:g}.")


@broker.command("fail-log-dir")
@BROKER
@click.argument("path", metavar="PATH")
@FORMAT
@asks_server
def fail_log_dir(client: "Client", form: str, number: int, path: str) -> None:
    """Break a disk; `reassignd broker list` tells the paths."""
    answer = client.post(f"/v1/brokers/{number}/fail-log-dir", {"path": path})
    _say(form, answer, f"Broker {number} has lost {path}.")


def _cells(row: dict[str, Any]) -> tuple[object, ...]:
    dirs = (each["path"] + ("" if each["works"] else " (failed)") for each in row["log_dirs"])
    state = "runs" if row["live"] else "stopped"
    return row["id"], state, f"{row['host']}:{row['port']}", row["rack"] or "", ", ".join(dirs)


def _say(form: str, answer: Any, text: str) -> None:
    say(as_json(answer) if form == JSON else text)
