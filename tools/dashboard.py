"""Generate the Grafana dashboard: `python -m tools.dashboard [--check]`.

The panels are below, as titles and queries; the result is deploy/grafana/reassignd.json (Grafana 10 or later). `--check`
writes nothing and fails if the file is out of date.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

DASHBOARD = Path(__file__).parent.parent / "deploy" / "grafana" / "reassignd.json"

WIDTH, HEIGHT = 24, 7
"""Columns of Grafana's grid, and the height of a panel in its rows."""

HERE = '{job=~"$job",instance=~"$instance"}'
"""Selects the processes that are chosen at the top of the dashboard."""


INSTANCES = "Of several instances (state=topic); empty with state=directory."
"""Description of panels that a single process has no data for."""


class Query(NamedTuple):
    """A PromQL expression; `HERE` stands for `$`. `legend` names its series."""

    expression: str
    legend: str

    @property
    def text(self) -> str:
        """The expression with the selector of the chosen processes."""
        return self.expression.replace("$", HERE)


class Panel(NamedTuple):
    """A graph, or a number if `kind` is `stat`."""

    title: str
    unit: str
    queries: tuple[Query, ...]
    description: str = ""
    kind: str = "timeseries"
    stacked: bool = False


def graph(title: str, unit: str, *queries: tuple[str, str], text: str = "", stacked: bool = False) -> Panel:
    """Return a graph. `queries` are pairs of expression and legend."""
    return Panel(title, unit, tuple(Query(*query) for query in queries), text, stacked=stacked)


def number(title: str, unit: str, expression: str, text: str = "") -> Panel:
    """Return a panel with one number."""
    return Panel(title, unit, (Query(expression, title),), text, "stat")


ROWS: dict[str, tuple[Panel, ...]] = {
    "Now": (
        number("Serves", "none", "max(reassignd_active$)", "1 if a process serves"),
        number("Open jobs", "none", "sum(reassignd_open_jobs$)"),
        number("Moving", "none", "sum(reassignd_moving_partitions$)", "Partitions with a step in flight"),
        number(
            "Not started", "none", "sum(reassignd_queued_partitions$) + sum(reassignd_waiting_partitions$)"
        ),
        number("Bytes left", "bytes", "sum(reassignd_broker_left_bytes$) or vector(0)"),
        number(
            "Time left",
            "s",
            "max(reassignd_job_remaining_seconds$)",
            "Of the slowest job. No value while it cannot be said, for instance during a pause.",
        ),
        number("Blocked", "none", "sum(reassignd_blocked_partitions$)", "They wait for an operator"),
        number("Stalled", "none", "sum(reassignd_stalled_partitions$)", "Steps without progress"),
    ),
    "Progress": (
        graph(
            "Partitions",
            "none",
            ("sum(reassignd_moving_partitions$)", "moving"),
            ("sum(reassignd_queued_partitions$)", "queued"),
            ("sum(reassignd_waiting_partitions$)", "waiting"),
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
        graph(
            "Holds",
            "none",
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
            ("sum by (broker) (rate(reassignd_broker_received_bytes_total$[5m]))", "broker {{broker}}"),
            ("max(reassignd_throttle_bytes_per_second$)", "throttle"),
        ),
        graph(
            "Sent by broker",
            "Bps",
            ("sum by (broker) (rate(reassignd_broker_sent_bytes_total$[5m]))", "broker {{broker}}"),
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
                "{{direction}} broker {{broker}}",
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
            ("sum by (result) (rate(reassignd_upstream_polls_total$[5m]))", "{{result}}"),
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
                "sum by (request, kind) (rate(reassignd_upstream_errors_total$[5m]))",
                "{{request}}: {{kind}}",
            ),
            text="Empty until a request has failed",
        ),
        graph(
            "Rows by answer",
            "ops",
            ("sum by (error) (rate(reassignd_upstream_rows_total$[5m]))", "{{error}}"),
            text="What Kafka answered to steps; empty until the first one",
        ),
        graph(
            "Relayed requests",
            "reqps",
            ("sum by (request) (rate(reassignd_relayed_requests_total$[5m]))", "{{request}}"),
            text="Requests of clients, sent on to Kafka; empty until the first one",
        ),
        graph(
            "Relayed bytes",
            "Bps",
            ("sum by (direction) (rate(reassignd_relayed_bytes_total$[5m]))", "{{direction}}"),
        ),
    ),
    "Instances with a state topic": (
        graph(
            "Active",
            "none",
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
            ("sum by (request) (rate(reassignd_requests_total$[5m]))", "{{request}}"),
        ),
        graph(
            "Mean time of a commit",
            "s",
            (
                "sum(rate(reassignd_store_commit_seconds_sum$[5m])) / sum(rate(reassignd_store_commit_seconds_count$[5m]))",
                "commit",
            ),
        ),
        graph(
            "Event loop lag", "s", ("max by (instance) (reassignd_event_loop_lag_seconds$)", "{{instance}}")
        ),
        graph("Memory", "bytes", ("max by (instance) (process_resident_memory_bytes$)", "{{instance}}")),
        graph("CPU", "percentunit", ("rate(process_cpu_seconds_total$[5m])", "{{instance}}")),
        graph(
            "Audit log",
            "ops",
            ("sum by (action) (rate(reassignd_audit_entries_total$[5m]))", "{{action}}"),
        ),
    ),
}


def queries() -> list[Query]:
    """Return the queries of all panels."""
    return [query for panels in ROWS.values() for panel in panels for query in panel.queries]


def dashboard() -> dict[str, Any]:
    """Return the document that Grafana imports."""
    panels: list[dict[str, Any]] = []
    top = 0
    for title, row in ROWS.items():
        panels.append(
            {
                "type": "row",
                "title": title,
                "collapsed": False,
                "gridPos": {"x": 0, "y": top, "w": WIDTH, "h": 1},
            }
        )
        top += 1
        width, height = (WIDTH // len(row), 4) if row[0].kind == "stat" else (WIDTH // 3, HEIGHT)
        for number_, panel in enumerate(row):
            line, column = divmod(number_, WIDTH // width)
            at = {"x": column * width, "y": top + line * height, "w": width, "h": height}
            panels.append(_panel(panel, at))
        top += height * -(-len(row) * width // WIDTH)
    return {
        "uid": "reassignd",
        "title": "reassignd",
        "description": "Partition reassignments: progress, reasons, brokers, limits.",
        "tags": ["kafka", "reassignd"],
        "timezone": "browser",
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_data_source(), _variable("job"), _variable("instance")]},
        "panels": [{"id": id_, **panel} for id_, panel in enumerate(panels, 1)],
    }


def _panel(panel: Panel, at: dict[str, int]) -> dict[str, Any]:
    custom = {"fillOpacity": 10, "stacking": {"mode": "normal" if panel.stacked else "none"}}
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0}
    if panel.kind == "timeseries":
        defaults["custom"] = custom
    source = {"type": "prometheus", "uid": "${datasource}"}
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": source,
        "gridPos": at,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + n),
                "datasource": source,
                "expr": query.text,
                "legendFormat": query.legend,
            }
            for n, query in enumerate(panel.queries)
        ],
    }


def _data_source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}


def _variable(label: str) -> dict[str, Any]:
    chosen = '{job=~"$job"}' if label == "instance" else ""
    return {
        "name": label,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": f"label_values(reassignd_build_info{chosen}, {label})",
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return exit code 1 if `--check` found the file out of date."""
    parser = argparse.ArgumentParser(prog="python -m tools.dashboard", description="Generate the dashboard.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file is out of date")
    text = json.dumps(dashboard(), indent=2) + "\n"
    if not parser.parse_args(arguments).check:
        DASHBOARD.write_text(text, "utf-8")
        return 0
    if DASHBOARD.exists() and DASHBOARD.read_text("utf-8") == text:
        return 0
    print(f"{DASHBOARD.name} is out of date; run python -m tools.dashboard", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
