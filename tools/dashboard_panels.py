"""The rows of the Grafana dashboard with their panels: titles, units, and queries in PromQL."""

from collections.abc import Mapping
from typing import Any, NamedTuple

HERE = '{job=~"$job",instance=~"$instance"}'
"""Selects the processes that are chosen at the top of the dashboard."""

RANGE = "[$__rate_interval]"
"""The range of rates: Grafana makes it four scrapes, or one step of the graph and a scrape if that is
longer."""

PLAIN = {"color": {"mode": "fixed", "fixedColor": "text"}}
"""A number that is neither good nor bad. Without a color, Grafana shows numbers from 80 in red."""


def _from_one(color: str, below: str) -> dict[str, Any]:
    steps = [{"value": None, "color": below}, {"value": 1, "color": color}]
    return {"color": {"mode": "thresholds"}, "thresholds": {"mode": "absolute", "steps": steps}}


NONE_IS_GOOD = _from_one("red", below="green")
YES_OR_NO = _from_one("green", below="red") | {
    "mappings": [
        {"type": "value", "options": {str(n): {"text": text, "index": n}}}
        for n, text in enumerate(("no", "yes"))
    ]
}
"""0 is `no`, 1 is `yes`."""

INSTANCES = "Of several instances (state=topic); empty with state=directory."
"""Description of panels that a single process has no data for."""


class Query(NamedTuple):
    """A PromQL expression; `$` stands for `HERE`, `[rate]` for `RANGE`. `legend` names its series."""

    expression: str
    legend: str

    @property
    def text(self) -> str:
        """The expression with the selector of the chosen processes, as Grafana gets it."""
        return self.expression.replace("$", HERE).replace("[rate]", RANGE)


class Panel(NamedTuple):
    """A graph, or a number if `kind` is `stat`.

    `options` are Grafana's options of the fields, `colors` those of series by their legends.
    """

    title: str
    unit: str
    queries: tuple[Query, ...]
    description: str = ""
    kind: str = "timeseries"
    stacked: bool = False
    options: Mapping[str, Any] = {}
    colors: Mapping[str, str] = {}


def graph(
    title: str, unit: str, *queries: tuple[str, str], text: str = "", stacked: bool = False, **colors: str
) -> Panel:
    """Return a graph.

    `queries` are pairs of expression and legend, `colors` those of series by their legends.
    """
    return Panel(title, unit, tuple(Query(*query) for query in queries), text, stacked=stacked, colors=colors)


def switch(title: str, *queries: tuple[str, str], text: str) -> Panel:
    """Return a graph of values that are 0 or 1."""
    return graph(title, "none", *queries, text=text)._replace(options={"max": 1})


def number(
    title: str, unit: str, expression: str, text: str = "", colors: Mapping[str, Any] = PLAIN
) -> Panel:
    """Return a panel with one number."""
    return Panel(title, unit, (Query(expression, title),), text, "stat", options=colors)


ROWS: dict[str, tuple[Panel, ...]] = {
    "Now": (
        number(
            "Serves", "none", "max(reassignd_active$) or vector(0)", "Whether a process serves", YES_OR_NO
        ),
        number("Open jobs", "none", "sum(reassignd_open_jobs$)"),
        number("Moving", "none", "sum(reassignd_moving_partitions$)", "Partitions with a step in flight"),
        number(
            "Not started", "none", "sum(reassignd_queued_partitions$) + sum(reassignd_waiting_partitions$)"
        ),
        number("Bytes left", "bytes", "sum(reassignd_broker_left_bytes$) or 0 * sum(reassignd_open_jobs$)"),
        number(
            "Time left",
            "s",
            "max(reassignd_job_remaining_seconds$)",
            "Of the slowest job. No value while it cannot be said, for instance during a pause.",
        ),
        number(
            "Blocked", "none", "sum(reassignd_blocked_partitions$)", "They wait for an operator", NONE_IS_GOOD
        ),
        number(
            "Stalled", "none", "sum(reassignd_stalled_partitions$)", "Steps without progress", NONE_IS_GOOD
        ),
    ),
    "Progress": (
        graph(
            "Partitions",
            "none",
            ("sum(reassignd_moving_partitions$)", "moving"),
            ("sum(reassignd_queued_partitions$)", "queued"),
            ("sum(reassignd_waiting_partitions$)", "waiting"),
            stacked=True,
        ),
        graph(
            "Bytes left by job", "bytes", ("sum by (job_id) (reassignd_job_left_bytes$)", "job {{job_id}}")
        ),
        graph(
            "Time left by job", "s", ("max by (job_id) (reassignd_job_remaining_seconds$)", "job {{job_id}}")
        ),
    ),
    "Why partitions do not move": (
        graph(
            "Partitions by reason",
            "none",
            ("sum by (reason) (reassignd_partitions_by_reason$) > 0", "{{reason}}"),
            stacked=True,
        ),
        graph(
            "Longest wait by reason",
            "s",
            ("max by (reason) (reassignd_oldest_wait_seconds$) > 0", "{{reason}}"),
        ),
        switch(
            "Holds",
            ("max(reassignd_paused$)", "paused"),
            ("max(reassignd_outside_of_schedule$)", "outside of the schedule"),
            ("max(reassignd_health_guard_holds$)", "health guard"),
            text="1 while the reason holds all steps",
        ),
    ),
    "Brokers": (
        graph(
            "Received by broker",
            "Bps",
            ("sum by (broker) (rate(reassignd_broker_received_bytes_total$[rate]))", "broker {{broker}}"),
            ("max(reassignd_throttle_bytes_per_second$)", "throttle"),
            throttle="red",
        ),
        graph(
            "Sent by broker",
            "Bps",
            ("sum by (broker) (rate(reassignd_broker_sent_bytes_total$[rate]))", "broker {{broker}}"),
            ("max(reassignd_throttle_bytes_per_second$)", "throttle"),
            throttle="red",
        ),
        graph(
            "Bytes left by broker",
            "bytes",
            ("sum by (broker) (reassignd_broker_left_bytes$)", "broker {{broker}}"),
        ),
        graph(
            "Replicas in flight by broker",
            "none",
            (
                "sum by (broker, direction) (reassignd_broker_replicas_in_flight$)",
                "broker {{broker}} {{direction}}",
            ),
        ),
        graph(
            "Use of the limits",
            "percentunit",
            ("max by (limit) (reassignd_limit_used$ / reassignd_limit$)", "limit {{limit}}"),
            text="Limits that are not set are absent",
        ),
        graph(
            "Health of partitions",
            "none",
            ("max(reassignd_under_replicated_partitions$)", "under-replicated"),
            ("max(reassignd_under_min_isr_partitions$)", "under min ISR"),
            ("max(reassignd_offline_partitions$)", "offline"),
            text="Adding replicas do not make a partition under-replicated (KIP-352)",
        ),
    ),
    "Kafka cluster behind a gateway": (
        graph(
            "Polls",
            "ops",
            ("sum by (result) (rate(reassignd_upstream_polls_total$[rate]))", "{{result}}"),
            ok="green",
            failed="red",
        ),
        graph(
            "Age of the last poll",
            "s",
            ("time() - max(reassignd_upstream_last_poll_timestamp_seconds$)", "age"),
        ),
        graph(
            "Failed requests",
            "ops",
            (
                "sum by (request, kind) (rate(reassignd_upstream_errors_total$[rate]))",
                "{{request}}: {{kind}}",
            ),
            text="Empty until a request has failed",
        ),
        graph(
            "Rows by answer",
            "ops",
            ("sum by (error) (rate(reassignd_upstream_rows_total$[rate]))", "{{error}}"),
            text="What Kafka answered to steps; empty until the first one",
        ),
        graph(
            "Relayed requests",
            "reqps",
            ("sum by (request) (rate(reassignd_relayed_requests_total$[rate]))", "{{request}}"),
            text="Requests of clients, sent on to Kafka; empty until the first one",
        ),
        graph(
            "Relayed bytes",
            "Bps",
            ("sum by (direction) (rate(reassignd_relayed_bytes_total$[rate]))", "{{direction}}"),
        ),
    ),
    "Instances with a state topic": (
        switch(
            "Active",
            ("max by (instance) (reassignd_instance_active$)", "{{instance}}"),
            text=INSTANCES,
        ),
        graph(
            "Lag",
            "none",
            ("max by (instance) (reassignd_state_lag_records$)", "{{instance}}"),
            text=INSTANCES,
        ),
        graph(
            "Changes of the active instance",
            "none",
            ("max(increase(reassignd_instance_changes_total$[1h]))", "changes in an hour"),
            text=INSTANCES,
        ),
    ),
    "reassignd itself": (
        graph(
            "Requests",
            "reqps",
            ("sum by (request) (rate(reassignd_requests_total$[rate]))", "{{request}}"),
            text="Requests that reassignd answered itself; empty until the first one",
        ),
        graph(
            "Mean time of a commit",
            "s",
            (
                (
                    "sum(rate(reassignd_store_commit_seconds_sum$[rate])) /"
                    " sum(rate(reassignd_store_commit_seconds_count$[rate]))"
                ),
                "commit",
            ),
        ),
        graph(
            "Event loop lag", "s", ("max by (instance) (reassignd_event_loop_lag_seconds$)", "{{instance}}")
        ),
        graph("Memory", "bytes", ("max by (instance) (process_resident_memory_bytes$)", "{{instance}}")),
        graph("CPU", "percentunit", ("rate(process_cpu_seconds_total$[rate])", "{{instance}}")),
        graph(
            "Audit entries in an hour",
            "none",
            ("sum by (action) (increase(reassignd_audit_entries_total$[1h])) > 0", "{{action}}"),
            text="Orders, changes of limits, pauses; empty until the first one",
        ),
    ),
}


def queries() -> list[Query]:
    """Return the queries of all panels."""
    return [query for panels in ROWS.values() for panel in panels for query in panel.queries]
