"""The commands `status` and `instances`: the cluster with all jobs, and the instances before it."""

import re
import sys
import time
from itertools import islice
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from common.rates import in_rate
from common.units import in_bytes, in_time
from common.wording import as_json, counted
from reassignd.commands.confirm import YES, confirm
from reassignd.commands.help import examples
from reassignd.commands.options import JSON, with_client
from reassignd.commands.output import (
    broker_lines,
    duration,
    echo,
    endings,
    job_lines,
    moved_by,
    reason_lines,
    states_of,
    when,
)
from reassignd.commands.schedule import in_words
from reassignd.commands.table import Safe, columns, look, safe, with_table

if TYPE_CHECKING:
    from reassignd.client import Client


INTERVAL_SECONDS = 1
ALARMS = re.compile("UNHEALTHY|UNREACHABLE|NOT SEEN")


@click.command(
    epilog=examples("reassignd status", "reassignd status --watch --interval 5", "reassignd status -o json")
)
@click.option("--watch", is_flag=True, help="Refresh the output until interrupted.")
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.FloatRange(min=0.1),
    help=f"With --watch: interval of refreshes.  [default: {INTERVAL_SECONDS}]",
)
@with_table
@with_client
def status(client: "Client", output_format: str, watch: bool, interval: float | None) -> None:
    """Show the cluster, the jobs, the reasons of partitions that do not move, and the limits.

    With --watch on a terminal, keys act at once: q quits, p pauses or resumes everything after a question,
    + and - change limit P by one, and ? shows the keys.
    """
    if not watch and interval is not None:
        raise click.UsageError("--interval needs --watch")
    if not watch:
        echo(_page(client, output_format))
        return
    try:
        _watch(client, output_format, interval or INTERVAL_SECONDS)
    except KeyboardInterrupt:
        return


def _watch(client: "Client", output_format: str, interval: float) -> None:
    if output_format == JSON or not sys.stdout.isatty():
        while True:
            echo(_page(client, output_format) + ("" if output_format == JSON else "\n"))
            time.sleep(interval)
    from reassignd.commands.watch import watch

    watch(client, interval, lambda: _answer(client), screen)


def _page(client: "Client", output_format: str) -> str:
    if output_format == JSON:
        return as_json(client.get("/v1/status"))
    return Safe("\n".join(map(_tinted, lines(_answer(client), look().width))))


def _answer(client: "Client") -> dict[str, Any]:
    """Return the status, and under `last` the newest job if none moves."""
    answer = client.get("/v1/status")
    if answer["jobs"]:
        return answer
    return answer | {"last": [job for job in client.get("/v1/jobs", limit=1)["jobs"] if job["ended_ms"]]}


def _tinted(line: str) -> Safe:
    """Return the line without control characters, and in color what is wrong or paused."""
    text = safe(line)
    if isinstance(text, Safe) or not look().color:
        return Safe(text)
    text = ALARMS.sub(lambda found: click.style(found[0], fg="red", bold=True), text)
    return Safe(text.replace("PAUSED", click.style("PAUSED", fg="yellow", bold=True)))


def screen(status: dict[str, Any], width: int, height: int) -> list[str]:
    """Return the lines that fit a screen. The last line gives the number of lines that do not."""
    found: list[str] = list(map(_tinted, lines(status, width)))
    if len(found) <= height:
        return found
    return [*found[: height - 1], f"{len(found) - height + 1} more lines"]


def lines(status: dict[str, Any], width: int | None = None) -> list[str]:
    """Return the lines of the text output; those whose number is fixed come first.

    Tables have fewer columns if they do not fit the width.
    """
    found = [
        _cluster(status),
        *_health(status["health"]),
        _moves(status),
        *map(_last, status.get("last", ())),
        _limits(status["limits"]),
        _throttle(status["throttle"]),
        *_pace(status["pace"]),
        *([f"Schedule  {in_words(status['schedule'])}"] if status["schedule"] else []),
    ]
    if width is not None:
        found = [part for line in found for part in wrap(line, width, subsequent_indent=" " * 10)]
    if status["jobs"]:
        found += ["", *job_lines(status["jobs"], width)]
    if status.get("restores"):  # an older server does not say
        found += ["", *_restores(status["restores"])]
    if status["incoming"]:
        found += ["", *broker_lines(status["incoming"], width)]
    if status["reasons"]:
        found += ["", "Not moving, by reason:", *reason_lines(status["reasons"], status["other_reasons"])]
    if _spark_is_wanted(status):
        found += ["", f"Spark     {spark_line(status['spark'])}"]
        if any(status["spark"].get("steps", {}).values()):
            found.append(f"Steps     {begun_line(status['spark']['steps'])}")
    return found


def _restores(rows: list[dict[str, Any]]) -> list[str]:
    """Return a line for each job that is rolled back automatically."""
    return [
        f"Restores  job {row['job']} will be rolled back at {when(row['until_ms'])}:"
        f" {counted(row['partitions'], 'partition')}"
        for row in rows
    ]


def _spark_is_wanted(status: dict[str, Any]) -> bool:
    """Whether Spark, which is optional, can plan jobs, or is missing for one of those that are shown."""
    spark = status["spark"]
    if spark["state"] == "missing":
        return any(job["total"] >= spark["min_partitions"] for job in status["jobs"])
    return bool(spark["state"] != "off")


def _cluster(status: dict[str, Any]) -> str:
    brokers, partitions = status["brokers"], status["partitions"]
    troubles = [
        f"{partitions[name]:,} {words}"
        for name, words in (
            ("offline", "offline"),
            ("under_min_isr", "under min ISR"),
            ("under_replicated", "under-replicated"),
        )
        if partitions[name]
    ]
    idle = brokers.get("idle", [])  # an older server does not say
    flaws = {
        "offline": [broker for broker in brokers["offline"] if broker not in idle],
        "offline and empty": idle,
        "excluded": brokers["excluded"],
        "hidden from clients": brokers["hidden"],
    }
    notes = [f"{flaw}: {', '.join(map(str, ids))}" for flaw, ids in flaws.items() if ids]
    gone = f" ({'; '.join(notes)})" if notes else ""
    unseen_since = status["health"]["unseen_since_ms"]
    name = f"{name}: " if (name := status.get("cluster_name")) else ""  # an older server does not say
    return (
        f"Cluster   {name}{'' if unseen_since is None else _unseen(unseen_since)}{brokers['live']} of"
        f" {counted(brokers['registered'], 'broker')}{gone}, {counted(partitions['total'], 'partition')},"
        f" {', '.join(troubles) or 'all in sync'}"
    )


def _unseen(since_ms: int) -> str:
    """Return that the numbers of the cluster are old."""
    seconds = max(0, round(time.time() - since_ms / 1000))
    return f"NOT SEEN for {in_time(seconds)}; as of {when(since_ms)}: "


PACED = 3
"""Brokers that the line of pace names."""

THROTTLED = 10
"""Brokers with the same throttle of others that its line names."""

_GUARD = {0: "only repairs start", 1: "one step at a time", None: "the guard is off"}


def _health(health: dict[str, Any]) -> list[str]:
    """Return one line if the cluster is not healthy."""
    if health["unseen_since_ms"] is not None:
        return [f"Health    UNREACHABLE, no steps start: {health['trouble']}"]
    if health["trouble"]:
        return [f"Health    UNHEALTHY, {_GUARD[health['holds']]}: {health['trouble']}"]
    return [f"Health    UNHEALTHY: {'; '.join(health['problems'])}"] if health["problems"] else []


def _moves(status: dict[str, Any]) -> str:
    totals = status["reassignments"]
    paused = "PAUSED: " if status["paused"] else ""
    others = f", {totals['others']:,} external" if totals["others"] else ""
    if directories := totals.get("directories", 0):  # an older server does not say
        others += f", {counted(directories, 'replica')} between directories"
    if not totals["ongoing"]:
        return f"Moves     {paused}none{others}"
    parts = [*states_of(totals)]
    if totals["pending"]:
        parts.append(f"{totals['pending']:,} pending a rollback")
    return f"Moves     {paused}{counted(totals['ongoing'], 'partition')}: {', '.join(parts)}{others}"


def _last(job: dict[str, Any]) -> str:
    """Return how the newest job ended, and when."""
    took = duration((job["ended_ms"] - job["created_ms"]) / 1000)
    ago = duration(max(0.0, time.time() - job["ended_ms"] / 1000))
    partitions = counted(job["total"], moved_by(job))
    return f"Last      job {job['id']}: {endings(job)}, {partitions} in {took}, {ago} ago"


def _limits(limits: list[dict[str, Any]]) -> str:
    set_ = [
        f"{each['name']} {each['limit']:,}" + ("" if each["used"] is None else f" ({each['used']:,} used)")
        for each in limits
        if each["limit"] is not None
    ]
    return "Limits    " + (", ".join(set_) or "none")


def _throttle(throttle: dict[str, Any]) -> str:
    rate = throttle["bytes_per_second"]
    others = [
        f"{in_rate(each['bytes_per_second'])} at {_brokers(each['brokers'])}"
        for each in throttle["set_by_others"]
    ]
    own = "none" if rate is None else in_rate(rate)
    if (source := throttle.get("source")) not in {None, "the cluster"}:
        own += f", of {source}"
    if unlisted := throttle.get("unlisted", 0):
        own += f"; not of {counted(unlisted, 'replica')}: the throttle list of their topic is full"
    if not others:
        return f"Throttle  {own}"
    in_force = "" if rate is None else " (in force there)"
    return f"Throttle  {own}; set by others: {', '.join(others)}{in_force}"


def _brokers(ids: list[int]) -> str:
    """Return the brokers by id; of many only their number."""
    if len(ids) > THROTTLED:
        return counted(len(ids), "broker")
    return f"broker{'s' * (len(ids) > 1)} {', '.join(map(str, ids))}"


def _pace(pace: dict[str, Any]) -> list[str]:
    """Return one line, and one more if there is a problem; none while pace is off."""
    if pace["mode"] == "off":
        return []
    measured = [each for each in pace["brokers"] if each["latency_ms"] is not None]
    slowest = max(measured, key=lambda each: float(each["latency_ms"]), default=None)
    now = ["nothing is measured yet"]
    if slowest is not None:
        now = [f"now {slowest['latency_ms']:.3g} ms at broker {slowest['id']}"]
    if pace["comparing"]:
        now.append("moves little to measure the latency without the move")
    else:
        slowed = (each for each in pace["brokers"] if each["activity"] == "backing off")
        now += [f"broker {each['id']} backs off: {each['reason']}" for each in islice(slowed, PACED)]
    line = f"Pace      at most {pace['target']}; {'; '.join(now)}"
    return [line, *([f"Pace      {pace['problem']}"] if pace["problem"] else [])]


def spark_line(spark: dict[str, Any]) -> str:
    """Return the state of the planner on Spark as text."""
    match spark["state"]:
        case "missing":
            return f"not found: {spark['reason']}"
        case "starting":
            return "starting"
        case "ready":
            return f"ready for jobs of {counted(spark['min_partitions'], 'partition')} or more"
    job, partitions = f"job {spark['job']}", counted(spark["partitions"], "partition")
    if spark["state"] == "working":
        return f"working since {when(spark['since_ms'])} on {job}: {partitions}"
    if spark["state"] == "failed":
        return f"failed on {job}: {spark['reason']}"
    forecast = spark["forecast"]
    return (
        f"ordered {partitions} of {job} in {counted(forecast['waves'], 'wave')},"
        f" forecast {in_time(forecast['seconds'])} for {in_bytes(forecast['bytes'])}"
    )


def begun_line(steps: dict[str, int]) -> str:
    """Return how the steps of planned partitions compare with those that the server's own rule gave."""
    differ = f", {steps['differs']:,} differ" if steps["differs"] else ""
    again = f", {steps['replanned']:,} planned again" if steps["replanned"] else ""
    return f"planned on Spark: {counted(sum(steps.values()), 'step')}, {steps['same']:,} same{differ}{again}"


HAND_OVER = "hand-over"


@click.command(epilog=examples("reassignd instances", "reassignd instances hand-over"))
@click.argument("action", metavar="[hand-over]", type=click.Choice([HAND_OVER]), required=False)
@YES
@with_table
@with_client
def instances(client: "Client", output_format: str, action: str | None, yes: bool) -> None:
    """Show the instances of reassignd that share a state topic: who is active, since when, and who follows.

    With hand-over, the active instance ends its term, and a standby takes over within a second or two.
    """
    if action == HAND_OVER:
        confirm("Let a standby take over?", yes=yes)
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
    for line in columns(head, map(_cells, answer["instances"])):
        echo(line)


def _cells(row: dict[str, Any]) -> tuple[object, ...]:
    role = "active" if row["active"] else "standby"
    return (row["id"], role, row["version"], when(row["started_ms"]), row["lag"], row["url"])
