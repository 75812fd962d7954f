"""Generate the Grafana dashboard: `python -m tools.dashboard [--check]`.

The panels are in `tools.dashboard_panels`; the result is deploy/grafana/reassignd.json (Grafana 10 or later).
`--check` writes nothing and fails if the file is out of date.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tools.dashboard_panels import ROWS, Panel

DASHBOARD = Path(__file__).parent.parent / "deploy" / "grafana" / "reassignd.json"

WIDTH, HEIGHT = 24, 7
"""Columns of Grafana's grid, and the height of a panel in its rows."""

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
"""The data source that is chosen at the top of the dashboard."""


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
    is_graph = panel.kind == "timeseries"
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": SOURCE,
        "gridPos": at,
        "fieldConfig": {
            "defaults": _fields(panel),
            "overrides": [_override(*each) for each in panel.colors.items()],
        },
        "options": {"tooltip": {"mode": "multi", "sort": "desc"}} if is_graph else {"graphMode": "none"},
        "targets": [
            {
                "refId": chr(ord("A") + n),
                "datasource": SOURCE,
                "expr": query.text,
                "legendFormat": query.legend,
                "range": is_graph,
                "instant": not is_graph,
            }
            for n, query in enumerate(panel.queries)
        ],
    }


def _fields(panel: Panel) -> dict[str, Any]:
    fields: dict[str, Any] = {"unit": panel.unit, "min": 0, **panel.options}
    if panel.unit == "none":
        fields["decimals"] = 0
    if panel.kind == "timeseries":
        stacking = {"mode": "normal" if panel.stacked else "none", "group": "A"}
        fields["custom"] = {"fillOpacity": 30 if panel.stacked else 0, "stacking": stacking}
        if panel.unit == "none":
            # Otherwise the axis of a line at 0 reaches to 100.
            fields["custom"]["axisSoftMax"] = 1
    return fields


def _override(legend: str, color: str) -> dict[str, Any]:
    properties: list[dict[str, Any]] = [{"id": "color", "value": {"mode": "fixed", "fixedColor": color}}]
    if legend == "throttle":
        properties.append({"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 8]}})
    return {"matcher": {"id": "byName", "options": legend}, "properties": properties}


def _data_source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}


def _variable(label: str) -> dict[str, Any]:
    chosen = '{job=~"$job"}' if label == "instance" else ""
    return {
        "name": label,
        "type": "query",
        "datasource": SOURCE,
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
