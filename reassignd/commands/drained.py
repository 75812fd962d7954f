"""The command `drained`: whether brokers hold no replicas, for scripts that stop brokers."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from common.plan_errors import PlanError
from common.wording import as_json, counted, some
from planner.model.snapshot import TOPIC_PARTITION, Snapshot
from planner.proposals.problem.goal import ProposalError
from planner.proposing import chosen_topics
from reassignd.commands.cluster_source import Source, with_source
from reassignd.commands.completion import broker_numbers, topic_names
from reassignd.commands.help import examples
from reassignd.commands.options import FORMAT, JSON, Integer, with_client
from reassignd.commands.output import echo
from reassignd.config.errors import CommandError

if TYPE_CHECKING:
    from reassignd.client import Client

UNREGISTER = ". KRaft keeps it registered until `kafka-cluster.sh unregister --id {}`"


def stays_registered(client: "Client") -> bool:
    """Whether the server is a gateway: KRaft keeps a broker that was stopped registered, and offline."""
    placed_by: str = client.get("/v1/status")["brokers"]["placed_by"]
    return placed_by == "kafka"


class Held(NamedTuple):
    """Partitions that have a replica on a broker, or get one by an ongoing or queued reassignment."""

    broker: int
    partitions: Sequence[TOPIC_PARTITION]
    left_out: int = 0
    """Replicas of topics that are not chosen."""

    @property
    def line(self) -> str:
        """Return a line about the broker."""
        if not self.partitions and self.left_out:
            return (
                f"broker {self.broker} holds nothing but {counted(self.left_out, 'replica')} of other topics"
            )
        if not self.partitions:
            return f"broker {self.broker} holds nothing; it can be stopped"
        names = some([f"{topic}-{number}" for topic, number in self.partitions])
        return f"broker {self.broker} holds {counted(len(self.partitions), 'replica')}: {names}"

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON value."""
        return {
            "broker": self.broker,
            "replicas": len(self.partitions),
            "left_out": self.left_out,
            "drained": not self.partitions,
        }


def held_by(
    cluster: Snapshot, brokers: Collection[int], topics: Callable[[str], bool] = lambda _: True
) -> list[Held]:
    """Return what each of the brokers holds, by id.

    Raises CommandError for a broker that the cluster does not know.
    """
    found: dict[int, list[TOPIC_PARTITION]] = {broker: [] for broker in sorted(brokers)}
    left_out = Counter[int]()
    for key, row in sorted(cluster.partitions.items()):
        for broker in row.holders & found.keys():
            if topics(row.topic):
                found[broker].append(key)
            else:
                left_out[broker] += 1
    for broker, partitions in found.items():
        if not partitions and not left_out[broker] and broker not in cluster.brokers:
            raise CommandError(f"broker {broker} is not in the cluster")
    return [Held(broker, partitions, left_out[broker]) for broker, partitions in found.items()]


def report(held: Sequence[Held], output_format: str, *, registered: bool = False) -> int:
    """Print what the brokers hold; return exit code 0 if they hold nothing, else 1.

    `registered`: a broker stays registered when it is stopped.
    """
    if output_format == JSON:
        echo(as_json({"brokers": [each.as_dict() for each in held]}))
    else:
        for each in held:
            stoppable = not each.partitions and not each.left_out
            echo(each.line + (UNREGISTER.format(each.broker) if registered and stoppable else ""))
    return 1 if any(each.partitions for each in held) else 0


class CheckFailed(click.ClickException):
    """The command could not read the cluster, so there is no answer."""

    exit_code = 2


class Check(click.Command):
    """A command whose exit code 1 is an answer: all failures have exit code 2."""

    def invoke(self, ctx: click.Context) -> object:
        """See `click.Command.invoke`."""
        try:
            return super().invoke(ctx)
        except (CommandError, PlanError) as error:
            raise CheckFailed(str(error)) from error


@click.command(
    cls=Check,
    epilog=examples(
        "reassignd drained 3 && systemctl stop kafka", "reassignd drained 3 4 --exclude-topics '__.*'"
    ),
)
@click.argument(
    "brokers",
    metavar="BROKER...",
    nargs=-1,
    required=True,
    type=Integer(0, 2**31 - 1),
    shell_complete=broker_numbers,
)
@click.option(
    "--topics",
    metavar="REGEX",
    shell_complete=topic_names,
    help="Only replicas of topics whose whole name matches count.",
)
@click.option(
    "--exclude-topics", metavar="REGEX", help="Replicas of topics whose whole name matches do not count."
)
@with_source
@FORMAT
@with_client
def drained(
    client: "Client",
    output_format: str,
    brokers: Sequence[int],
    topics: str | None,
    exclude_topics: str | None,
    source: Source,
) -> int:
    """Tell whether brokers hold no replicas and get none.

    Exit codes: 0 if all of them are empty, 1 if one is not, 2 for errors.
    """
    held = held_by(source.read(client), brokers, _chosen(topics, exclude_topics))
    registered = source.of_server and output_format != JSON and stays_registered(client)
    return report(held, output_format, registered=registered)


def _chosen(topics: str | None, exclude_topics: str | None) -> Callable[[str], bool]:
    try:
        return chosen_topics(topics, exclude_topics)
    except ProposalError as error:
        raise click.UsageError(str(error)) from error
