"""Generate the reference pages of docs/ from the code: `python -m tools.reference [--check]`.

docs/api.md lists the endpoints, docs/cli.md the commands, docs/configuration.md the settings of the server
and the dynamic configs, docs/metrics.md the metrics; docs/embedded.md has a table of the served APIs, and
docs/cruise-control.md those of Cruise Control's API. The schema of the chart's values has the settings too,
and the chart has a copy of the alert rules. `--check` writes nothing and fails if a page is out of date.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from controller.cluster.config_keys import BROKER_KEYS, CLUSTER_WIDE, INT_MAX, LONG_MAX, TOPIC_KEYS, ConfigKey
from controller.schedule.periods import no_zones
from controller.views.reason_kinds import REASON_KINDS
from reassignd.cli import cli
from reassignd.config.settings import KEYS
from server.api.openapi import model_name
from server.api.routes import ENDPOINTS
from server.api.shared.call import Endpoint
from server.metrics.exposition import METRICS
from server.metrics.metric import Metric, exposed_name
from tools import chart_schema, cruise_control_tables, served_apis
from tools.written_parts import rewritten, table

PROGRAM = "tools.reference"

DOCS = Path(__file__).parent.parent / "docs"
EMBEDDED = DOCS / "embedded.md"
"""The page is written by hand, but for one table."""
CRUISE_CONTROL = DOCS / "cruise-control.md"
"""The page is written by hand, but for its tables."""

DEPLOY = DOCS.parent / "deploy"
ALERTS = DEPLOY / "prometheus" / "reassignd-alerts.yml"
CHART = DEPLOY / "helm" / "reassignd"
CHART_ALERTS = CHART / "files" / ALERTS.name
CHART_SCHEMA = CHART / "values.schema.json"
"""Written by hand, but for the keys of `config` and `limits`."""

CONFIGURATION = """\
# Configuration

`reassignd serve` reads its settings from five sources. In order of precedence: command-line options,
`--override key=value`, environment variables, the `.properties` file of `--config`, and the defaults below.
If a source sets a key twice, the last value is used. The variable of a key has the prefix `REASSIGND_`, upper
case, and underscores for dots: `REASSIGND_LOG_LEVEL=DEBUG` sets `log.level`. Other variables are ignored.

`reassignd serve --config FILE --check-config` checks the settings and the files that they name, shows where
each one comes from, and exits: with 0 if all are valid. It tries no connection: a host that does not exist is
seen at the start. It reads the variables of the shell in which it runs, not those of a unit of systemd or of
a container: with `deploy/install.sh`, `data.dir` is in the unit (`systemctl show -p Environment reassignd`).

The file has the syntax of Java properties: a line that begins with `#` or `!` is a comment; `=`, `:` or white
space separates key and value; a backslash at the end of a line continues it. An unknown key or an invalid
value is an error; the message names the file and the line, and a similar key if there is one.

```properties
# Three brokers, plain ports, JSON logs
listener=127.0.0.1:19092
embedded.brokers=3
log.format=json
```

"""

DYNAMIC = """
## Dynamic settings

These configs can be changed while the server runs, with Kafka's tools. They are stored with the records and
survive a restart. The configs in the first table are cluster-wide: set them as the default of all brokers; on
a single broker they are refused. `reassignd limits` sets the limits and the throttle under shorter names.

```sh
kafka-configs.sh --bootstrap-server 127.0.0.1:9092 --entity-type brokers --entity-default \\
  --alter --add-config reassignment.max.concurrent.partition.movements=2
```

Configs whose names begin with `reassignment.` can have initial values among the settings, for example
`reassignment.max.concurrent.partition.movements=20` in the file. An initial value applies as long as the
config is not set while the server runs; a dynamic value replaces it, also after a restart, and deleting the
dynamic value restores it. `reassignd limits` shows where a value comes from (`settings` or `dynamic`), and
Kafka's tools show an initial value as `STATIC_BROKER_CONFIG`.

To remove the limit, use `--delete-config reassignment.max.concurrent.partition.movements` instead of
`--add-config …`. To show the configs that are set, use `--describe` instead of `--alter` and what follows it.

"""

BROKER_SETTINGS = """
Further broker configs, for one broker (`--entity-name 1`) or all brokers (`--entity-default`):

"""

TOPIC_SETTINGS = """
Topic configs (`--entity-type topics --entity-name orders`) that affect reassignments. The other topic configs
of Kafka can be set and described, but have no effect in the embedded cluster.

"""

OUT_OF_RANGE = "?"
"""An invalid value for every key: `ConfigKey.check` returns the range of valid values for it."""

EFFECTIVE_TOPIC_CONFIGS = (
    "embedded.partition.bytes",
    "embedded.produce.bytes.per.second",
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "min.insync.replicas",
    "unclean.leader.election.enable",
)

METRICS_PAGE = """\
# Metrics

`GET /metrics` on the HTTP listener returns the metrics in the text format of Prometheus.
[Observability](observability.md) shows how to scrape them, with alert rules and a dashboard.

Metrics of reassignd begin with `reassignd_`. Those that begin with `reassignd_upstream_` are about the Kafka
cluster behind a gateway, with `reassignd_instance_` and `reassignd_state_` about several instances
(`state=topic`), and with `reassignd_zookeeper_` about ZooKeeper mode; elsewhere they are absent or 0. A
metric that Kafka has too also has the name that the usual rules of the JMX exporter give to Kafka's MBean, so
dashboards and alerts for Kafka work with an embedded cluster. For example,
`kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions` is
`kafka_server_replicamanager_underreplicatedpartitions`. A gateway is scraped beside its brokers, whose sums
would double, so it has no metric under Kafka's names unless `metrics.kafka.names=always`. In ZooKeeper mode
reassignd has those of a controller. Metrics that Kafka has per broker are totals of the cluster here, unless
they have the label `broker`. Rates of Kafka are counters here; use `rate()`.

A replica that is being added does not make a partition under-replicated (KIP-352). With
`metrics.moving.partitions=1000`, each moving partition, up to that number, has a gauge that shows whether it
is.

"""

METRICS_END = """
Kinds of reasons (`reason`):

{reasons}

The standard `process_…` metrics of the Prometheus client report CPU time, resident memory, open files and
start time.

A process that serves no cluster, such as one that waits for Kafka at its start, has `reassignd_active` 0,
`reassignd_build_info` and the `process_…` metrics only.

`/healthz` returns 200 while the process runs. `/readyz` returns 200 while requests are served, otherwise 503
with the reason.
"""

CLI = """\
# Command line

`reassignd` exits with 0 on success, with 1 if the command failed or is not complete, with 2 if arguments or
settings are invalid, and with 3 if `--wait` has timed out. A failure prints one line on stderr. Log lines are
written to stderr too. The [guide](guide.md#complete-commands-with-the-tab-key) shows completion in shells.

All commands except `serve`, `plan`, `context` and `zk` use the [JSON API](api.md) of a running server: at
the URL of `--url`, else of `REASSIGND_URL`, else of the [context](guide.md#name-your-servers) in use, else
http://127.0.0.1:9080. The [guide](guide.md) shows how to use them.

Tables have colors and bars on a terminal, unless `NO_COLOR` is set, and leave out columns that do not fit;
elsewhere they are plain text with all columns that have something to show. `-o wide` adds columns, `-o json`
is the JSON of the API, and `--no-headers` is for scripts.

`reassignd serve` prints one line on stdout when it serves requests; the line begins with `ready: `. With
`--ready-format json` the line is an object with the fields `kind`, `bootstrap_servers`, `addresses`, `http`
and `records`. The first SIGTERM or SIGINT stops the server within 5 seconds with exit code 0: requests in
progress complete, unless they take longer. The second signal ends it immediately. Acknowledged changes are on
disk in either case.

`python -m reassignd` runs the same command. In a folder that has a package named `server`, use the
`reassignd` script.
"""


API = """\
# JSON API

`reassignd serve` has a JSON API under `/v1` on its HTTP listener (`http.listener`, default 127.0.0.1:9080).
The commands of `reassignd` use this API. `/v1/openapi.json` is its description in OpenAPI 3.1.

Access depends on the listener. On loopback, the API of an embedded cluster is open to all users of the
machine; otherwise it is open to root and the user that runs reassignd. A unix socket is open to that user. On
any other address, the server requires a bearer token (`http.access.file`, `http.token.file`) or client
certificates (`http.tls.client.ca.file`), and does not start without one of them. A client with the role
`viewer` may use GET, the review of plans and the previews, one with the role `operator` everything;
`/v1/whoami` returns the role. Requests from web pages of other sites, and requests for other host names
(`http.allowed.hosts`), are refused. `/healthz` and `/readyz` are open to everyone. See
[Security](security.md#http).

An error response is `{"error": "one line that names what is wrong"}` with one of these status codes:

| status | meaning |
|---|---|
| 400 | the request is invalid; an entry of the plan has a wrong form |
| 401, 403 | not authenticated, or not allowed: the text names the missing role |
| 404 | the resource does not exist |
| 409 | not possible in the current state |
| 413 | the body is larger than 100 MiB |
| 422 | an entry of the plan does not fit the cluster |
| 429 | four plans are being reviewed, or four proposals computed, already |
| 503 | the server is starting or stopping, or receives too many large bodies at once |

A plan is rejected as a whole. If several of its entries are wrong, `faults` has a line for each (the first
1,000), in the order of the plan, whether its form is wrong or the cluster refuses it.

A client that asks often can share answers with others: with `cache-control: max-age=2`, the answers of
`/v1/status`, `/v1/limits`, `/v1/flows`, `/v1/jobs`, `/v1/jobs/{job}`, its timeline and its strip may be two
seconds old (at most 10). A change through this API makes all answers too old. These answers have an `etag`; a
request with it as `if-none-match` gets the status 304, if nothing has changed. Without the header, every
answer is new.

`/v1/events` is a stream of server-sent events: the start and end of jobs, and the steps and ends of their
partitions. The first event is `start`: read `/v1/jobs` after it. Decisions about more than 1,000 partitions
are one event, `partitions`. An event `schedule` shows that a period of the [schedule](operations.md#schedule)
has started or ended, or that the schedule has changed; read `/v1/schedule` after `start`. A stream ends with
an event `end` and its reason: if more than 1 MiB waits for a reader, if its token was removed, and when the
server stops. There can be 100 readers. A comment is sent after 15 s without events.

```sh
curl --no-buffer 127.0.0.1:9080/v1/events
```

`/v1/flows` has the bytes that open jobs have to copy, by source and target: by broker, or by rack in a
cluster of more than 60 brokers. `/v1/jobs/{job}/timeline` is the life of a job. What was ordered comes from
the audit log. Rates, stopped brokers and holds are kept in memory since the start of the server; `incomplete`
says what is missing. `/v1/jobs/{job}/strip` counts the partitions of a job by state in at most 1,000 cells.
All partitions are in `partitions.csv` and `partitions.json`; `rollback.json` is the plan that restores the
replicas from before the job.

```sh
curl --output job-1.csv 127.0.0.1:9080/v1/jobs/1/partitions.csv
curl '127.0.0.1:9080/v1/flows?by=rack'
```

If the controller rejects single partitions of a request, the response lists them under `refused`.

```sh
curl --data-binary @plan.json '127.0.0.1:9080/v1/jobs?throttle=10000000'
curl '127.0.0.1:9080/v1/jobs/1?limit=0'
curl --data '{"job": 1}' 127.0.0.1:9080/v1/reassignments/cancel
curl --request PUT --data '{"P": 20, "B": null}' 127.0.0.1:9080/v1/limits
```

"""


def pages() -> dict[Path, str]:
    """Return the expected text of each page."""
    return {
        CHART_ALERTS: ALERTS.read_text("utf-8"),
        CHART_SCHEMA: chart_schema.rewritten(CHART_SCHEMA.read_text("utf-8")),
        DOCS / "api.md": API
        + table(
            ("Method", "Path", "Query", "Request body", "Response", "Description"),
            map(_endpoint_row, ENDPOINTS),
        ),
        DOCS / "cli.md": "".join([CLI, *_commands()]),
        DOCS / "configuration.md": "".join([CONFIGURATION, *_settings()]),
        DOCS / "cruise-control.md": rewritten(
            CRUISE_CONTROL.read_text("utf-8"), PROGRAM, cruise_control_tables.TABLES
        ),
        DOCS / "embedded.md": rewritten(EMBEDDED.read_text("utf-8"), PROGRAM, served_apis.PARTS),
        DOCS / "metrics.md": METRICS_PAGE
        + table(("Name", "Type", "Labels", "Description"), map(_metric_row, METRICS))
        + METRICS_END.format(reasons=_reasons()),
    }


def outdated(expected: Mapping[Path, str]) -> list[Path]:
    """Return the pages that are missing or differ from the expected text."""
    return [path for path, text in expected.items() if not path.exists() or path.read_text("utf-8") != text]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return exit code 1 if `--check` found a page that is out of date."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.reference", description="Generate the reference pages."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is out of date")
    check = parser.parse_args(arguments).check
    expected = pages()
    for path in outdated(expected):
        if check:
            print(f"{path.name} is out of date; run python -m tools.reference", file=sys.stderr)
        else:
            path.write_text(expected[path], "utf-8")
    return 1 if check and outdated(expected) else 0


def _settings() -> Iterator[str]:
    head = ("Key", "Default", "Valid values", "Description")
    yield table(head, ((f"`{k.name}`", f"`{k.default}`", k.kind.valid, k.doc) for k in KEYS.values()))
    cluster_wide = [key for key in BROKER_KEYS.values() if key.name in CLUSTER_WIDE]
    per_broker = [key for key in BROKER_KEYS.values() if key.name not in CLUSTER_WIDE]
    yield DYNAMIC + table(head, map(_dynamic_row, cluster_wide))
    yield BROKER_SETTINGS + table(head, map(_dynamic_row, per_broker))
    yield TOPIC_SETTINGS + table(head, (_dynamic_row(TOPIC_KEYS[name]) for name in EFFECTIVE_TOPIC_CONFIGS))


def _reasons() -> str:
    return "\n".join(f"- `{kind}`: {meaning}" for kind, meaning in REASON_KINDS.items())


def _dynamic_row(key: ConfigKey) -> tuple[str, ...]:
    return f"`{key.name}`", _dynamic_default(key), key.check(OUT_OF_RANGE, no_zones) or "", key.doc


def _dynamic_default(key: ConfigKey) -> str:
    if key.name in KEYS:
        return "the setting of the server"
    if key.default in {str(INT_MAX), str(LONG_MAX)}:
        return "unlimited"
    return f"`{key.default}`" if key.default else "none"


def _commands() -> Iterator[str]:
    root = click.Context(cli, info_name="reassignd", **cli.context_settings)
    for name in cli.list_commands(root):
        command = cli.get_command(root, name)
        if command is not None:
            yield from _command(command, name, root)


def _command(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, parent=parent, info_name=name, max_content_width=100, terminal_width=100)
    yield f"\n## {context.command_path}\n\n```\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for subname in command.list_commands(context):
            nested = command.get_command(context, subname)
            if nested is not None:
                yield from _command(nested, subname, context)


def _endpoint_row(endpoint: Endpoint) -> tuple[str, ...]:
    names = () if endpoint.query is None else endpoint.query.__struct_encode_fields__
    query = ", ".join(f"`{name}`" for name in names)
    body = "" if endpoint.takes is None else model_name(endpoint.takes)
    response = model_name(endpoint.gives) + (", one per line" if endpoint.lines else "")
    return endpoint.method, f"`{endpoint.path}`", query, body, response, endpoint.summary


def _metric_row(metric: Metric) -> tuple[str, ...]:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"`{exposed_name(metric)}`", metric.kind, labels, metric.doc


if __name__ == "__main__":
    sys.exit(main())
