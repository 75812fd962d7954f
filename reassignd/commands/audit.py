"""The command `audit`: the accepted requests and their principals."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from common.rates import in_rate
from common.wording import as_json, counted
from controller.model.configs import THROTTLE
from reassignd.commands.completion import job_numbers, topic_names
from reassignd.commands.help import examples
from reassignd.commands.options import JSON, Integer, with_client
from reassignd.commands.output import by, echo, when
from reassignd.commands.table import Row, columns, with_table
from reassignd.commands.times import ago

if TYPE_CHECKING:
    from reassignd.client import Client


@click.command(
    epilog=examples(
        "reassignd audit --since 2h",
        "reassignd audit --job 3 --action pause,resume",
        "reassignd audit --export > audit.jsonl",
    )
)
@click.option(
    "--action",
    metavar="ACTION,...",
    help="Only these: order, queue, cancel, rollback, pause, resume, limits, priority, acls, users, review.",
)
@click.option(
    "--principal", metavar="NAME", help="Only requests of this principal, for example ann or Local:root."
)
@click.option("--client", "client_id", metavar="ID", help="Only requests with this client id or user agent.")
@click.option(
    "--job",
    metavar="JOB",
    type=Integer(1),
    shell_complete=job_numbers,
    help="Only requests that created or changed this job.",
)
@click.option(
    "--topic",
    metavar="TOPIC",
    shell_complete=topic_names,
    help="Only requests that name this topic, among their first ten.",
)
@click.option(
    "--since", metavar="TIME", callback=ago, help="Only from this time: an age (2h, 7d) or a local time."
)
@click.option("--until", metavar="TIME", callback=ago, help="Only before this time.")
@click.option(
    "--limit",
    metavar="N",
    type=Integer(1, 1_000),
    default=20,
    help="Maximum number of entries.  [default: 20]",
)
@click.option(
    "--before", metavar="ID", type=Integer(0), help="Only entries with a smaller id: the next page."
)
@click.option("--export", "exported", is_flag=True, help="Print all entries as JSON lines, oldest first.")
@with_table
@with_client
def audit(
    client: "Client",
    output_format: str,
    exported: bool,
    limit: int,
    before: int | None,
    client_id: str | None,
    principal: str | None,
    **given: str | int | None,
) -> None:
    """Show who ordered, cancelled, rolled back, paused or changed what, newest first."""
    chosen = {**given, "client": client_id, "principal": _principal(principal)}
    if exported:
        for chunk in client.stream("/v1/audit/export", **chosen):
            click.echo(chunk, nl=False)
        return
    answer = client.get("/v1/audit", limit=limit, before=before, **chosen)
    if output_format == JSON:
        echo(as_json(answer))
        return
    for line in _lines(answer):
        echo(line)


def _lines(answer: Row) -> Iterator[str]:
    if not answer["entries"]:
        yield "No entries."
        return
    yield from columns(("id", "time", "action", "job", "by", "what"), map(_cells, answer["entries"]))
    if answer["next"] is not None:
        yield f"Older entries: --before {answer['next']}"


def _principal(name: str | None) -> str | None:
    """Return the principal of a name as the command prints it, which is without the type `User`."""
    return name if name is None or ":" in name or name.startswith("unknown") else f"User:{name}"


def _cells(entry: Row) -> tuple[object, ...]:
    return entry["id"], when(entry["time_ms"]), entry["action"], entry["job"] or "", by(entry), _what(entry)


def _what(entry: Row) -> str:
    detail = entry["detail"]
    return ", ".join(
        part for part in (*_counts(detail), *_settings(entry["action"], detail), *_access(detail)) if part
    )


def _counts(detail: Row) -> Iterator[str]:
    if "rolled_back" in detail:
        yield f"of job {detail['rolled_back']}"
    if "partitions" in detail:
        yield counted(detail["partitions"], "partition")
    if "moves" in detail:
        yield f"{counted(detail['moves'], 'move')} between directories"
    if "left" in detail:
        yield f"{counted(detail['left'], 'partition')} left"
    for name in ("cancelled", "skipped"):
        if name in detail:
            yield f"{detail[name]:,} {name}"
    if "topics" in detail:
        more = detail["topic_count"] - len(detail["topics"])
        yield "of " + " ".join(detail["topics"]) + (f" and {counted(more, 'more topic')}" if more else "")


def _settings(action: str, detail: Row) -> Iterator[str]:
    """Yield each setting, with the value before the change. Entries of earlier versions have none."""
    if "throttle" in detail:
        yield f"throttle {in_rate(detail['throttle'])}"
    before = detail.get("before", {})
    if "priority" in detail or action == "priority":
        was = f"{before['priority']} -> " if "priority" in before else ""
        yield f"priority {was}{detail.get('priority', 0)}"
    for name, value in detail.get("configs", {}).items():
        was = f"{_value(name, before[name])} -> " if name in before else ""
        yield f"{name}={was}{_value(name, value)}"


def _access(detail: Row) -> Iterator[str]:
    for verb in ("created", "deleted"):
        for acl in detail.get(verb, ()):
            yield f"{verb} {acl}"
    yield from detail.get("reviewed", ())
    named = sum(len(detail.get(field, ())) for field in ("created", "deleted", "configs", "reviewed"))
    more = detail.get("changed", named) - named
    if more:
        yield f"and {more:,} more"
    if "reason" in detail:
        yield f"reason: {detail['reason']}"


def _value(name: str, value: str | None) -> str:
    if value is None:
        return "none"
    return in_rate(int(value)) if name == THROTTLE and value.isdecimal() else value
