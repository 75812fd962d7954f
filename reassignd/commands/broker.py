"""The command `broker`: stop, start, slow and break brokers of the embedded cluster."""

from typing import TYPE_CHECKING

import click

from reassignd.commands.completion import broker_numbers
from reassignd.commands.confirm import YES, confirm
from reassignd.commands.help import examples
from reassignd.commands.options import FORMAT, Integer, with_client
from reassignd.commands.output import echo_answer

if TYPE_CHECKING:
    from reassignd.client import Client

BROKER = click.argument("number", metavar="BROKER", type=Integer(0), shell_complete=broker_numbers)


@click.group(epilog=examples("reassignd broker stop 3 --crash", "reassignd broker slow 3 0.1"))
def broker() -> None:
    """Stop, start, slow down and break brokers of the embedded cluster."""


@broker.command(epilog=examples("reassignd broker stop 3", "reassignd broker stop 3 --crash"))
@BROKER
@click.option(
    "--crash", is_flag=True, help="Stop without a controlled shutdown: leaders are not moved first."
)
@FORMAT
@with_client
def stop(client: "Client", output_format: str, number: int, crash: bool) -> None:
    """Stop a broker."""
    answer = client.post(f"/v1/brokers/{number}/stop", controlled=not crash)
    echo_answer(output_format, answer, f"Broker {number} has stopped.")


@broker.command(epilog=examples("reassignd broker start 3"))
@BROKER
@FORMAT
@with_client
def start(client: "Client", output_format: str, number: int) -> None:
    """Start a stopped broker. It has its data; failed log directories are replaced with empty ones."""
    echo_answer(output_format, client.post(f"/v1/brokers/{number}/start"), f"Broker {number} has started.")


@broker.command(epilog=examples("reassignd broker slow 3 0.1"))
@BROKER
@click.argument("factor", metavar="FACTOR", type=click.FloatRange(0, 1000))
@FORMAT
@with_client
def slow(client: "Client", output_format: str, number: int, factor: float) -> None:
    """Multiply a broker's network rate by a factor. 0 stops all copying, 1 restores the rate."""
    answer = client.post(f"/v1/brokers/{number}/slow", {"factor": factor})
    echo_answer(output_format, answer, f"Broker {number} has {factor:g} times its network rate.")


@broker.command("fail-log-dir", epilog=examples("reassignd broker fail-log-dir 3 /data/1"))
@BROKER
@click.argument("path", metavar="PATH")
@YES
@FORMAT
@with_client
def fail_log_dir(client: "Client", output_format: str, number: int, path: str, yes: bool) -> None:
    """Fail a log directory. `reassignd brokers BROKER` shows the paths."""
    confirm(f"Lose the replicas in {path} of broker {number}?", yes=yes)
    answer = client.post(f"/v1/brokers/{number}/fail-log-dir", {"path": path})
    echo_answer(output_format, answer, f"Log directory {path} of broker {number} has failed.")
