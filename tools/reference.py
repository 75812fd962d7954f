"""Write the reference pages of docs/ from the tables in the code: `python -m tools.reference [--check]`.

docs/api.md comes from the endpoints, docs/cli.md from the commands, docs/configuration.md from the keys of the server and the
dynamic ones, docs/metrics.md from the metrics. `--check` writes nothing, and fails when a page is stale.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import click

from controller.configs.keys import BROKER_KEYS, INT_MAX, LONG_MAX, TOPIC_KEYS, ConfigKey
from reassignd.cli import cli
from reassignd.config.config import KEYS
from server.api.routes import ENDPOINTS
from server.api.table import Endpoint
from server.metrics.table import METRICS, Metric, exposed_name

DOCS = Path(__file__).parent.parent / "docs"

CONFIGURATION = """\
# Configuration

`reassignd serve` takes its settings, in this order of precedence, from flags, from `--override key=value`, from the
`.properties` file named by `--config`, and from the defaults below. A setting given twice in one place counts the last
time.

The file has Java's syntax: `#` or `!` begins a comment line, `=`, `:` or blanks separate key and value, a backslash at
the end of a line continues it. A key that is not in this table is refused, with one that is if it is similar; so is a value
that is not valid. Both name the file and the line.

```properties
# Three brokers with small partitions, for a quick try
listener=127.0.0.1:19092
embedded.brokers=3
log.format=json
```

"""

DYNAMIC = """
## Dynamic settings

These change while the server runs, over Kafka's protocol; they are kept with the records and survive a restart. Those of the first table
are cluster-wide: Kafka's own tool sets them as the defaults of all brokers (on one broker they are refused), and `reassignd limits`
sets the limits and the throttle under shorter names.

```sh
kafka-configs.sh --bootstrap-server 127.0.0.1:9092 --entity-type brokers --entity-default \\
  --alter --add-config reassignment.max.concurrent.partition.movements=2
```

`--delete-config reassignment.max.concurrent.partition.movements` in place of `--add-config …` takes the limit away again, and
`--describe` in place of both shows what is set.

"""

BROKER_SETTINGS = """
The other settings of brokers, by `--entity-name 1` for one and `--entity-default` for all:

"""

TOPIC_SETTINGS = """
And those of topics (`--entity-type topics --entity-name orders`) that change how reassignments run. Kafka's other topic configs are
kept and described, and change nothing here.

"""

OUT_OF_RANGE = "?"
"""No key takes it, so each answers with what it does take."""

TOPIC_SETTINGS_THAT_ACT = (
    "embedded.partition.bytes",
    "embedded.produce.bytes.per.second",
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "min.insync.replicas",
    "unclean.leader.election.enable",
)

METRICS_PAGE = """\
# Metrics

`GET /metrics` on the HTTP listener answers in Prometheus' text format. Where Kafka has the metric, it has the name that
the usual rules of the JMX exporter give Kafka's MBean, so that dashboards and alerts for Kafka work:
`kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions` is
`kafka_server_replicamanager_underreplicatedpartitions`. One controller speaks for all its brokers, so numbers that Kafka
counts broker by broker are those of the cluster, unless there is a `broker` label. What Kafka shows as a rate is a
counter: take `rate()` of it.

A replica that is being added never makes a partition under-replicated (KIP-352).

"""

METRICS_END = """
The process itself is told by the usual `process_…` metrics: CPU, resident memory, open files, start time.

`/healthz` answers 200 as long as the process lives. `/readyz` answers 200 when requests are served, and 503 with the
reason when not.
"""

CLI = """\
# The command

`reassignd` exits with 0 when it did what it was asked, with 1 when that failed or is not complete, and with 2 when it did not
understand; the last two with one line on stderr that says why. Log lines go to stderr too.

All verbs but `serve` and `plan` ask a running server, over its JSON API ([docs/api.md](api.md)): at `--url`, else at
`REASSIGND_URL`, else at http://127.0.0.1:9080. [The guide](guide.md) shows them at work.

`reassignd serve` prints one line on stdout when it serves, beginning with `ready: `. The first SIGTERM or SIGINT stops it
within 5 seconds, exit code 0: answers under way are finished, and what takes longer is cut off. The second signal ends it
at once. What was acknowledged is on disk in any case.

`python -m reassignd` is the same command. In a folder that has a `server/` of its own, only the console script works.
"""


API = """\
# The JSON API

`reassignd serve` answers under `/v1` on its HTTP listener (`http.listener`, 127.0.0.1:9080 by default). The verbs of the
command use nothing else. `/v1/openapi.json` describes it all, in OpenAPI 3.1, from the same table as this page.

On loopback it is open to every user of the machine with the embedded cluster, and else to the user that runs reassignd and to root; on a unix socket to
that user. On any other address the server does not start without a bearer token (`http.token.file`) or client certificates
(`http.tls.client.ca.file`). What the page of another site sends is refused, and so are host names that are not this
server's own (`http.allowed.hosts`). `/healthz` and `/readyz` are open to all. [Security](security.md#http) has the rest.

A refusal is `{"error": "one line that names what is wrong"}`: 400 what cannot be understood, 401 and 403 what is not allowed,
404 what does not exist, 409 what cannot be done now, 413 a body of more than 100 MiB, 422 an entry of a plan that does not fit
the cluster, 503 while the server starts or stops. A plan with such an entry is refused as a whole. What the controller
refuses for one partition only is a row under `refused`.

```sh
curl --data-binary @plan.json '127.0.0.1:9080/v1/jobs?throttle=10000000'
curl '127.0.0.1:9080/v1/jobs/1?limit=0'
curl --data '{"job": 1}' 127.0.0.1:9080/v1/reassignments/cancel
curl --request PUT --data '{"P": 20, "B": null}' 127.0.0.1:9080/v1/limits
```

"""


def pages() -> dict[Path, str]:
    """What each page should hold."""
    return {
        DOCS / "api.md": API
        + _table(
            ("Method", "Path", "Query", "Takes", "Gives", "What it does"), map(_endpoint_row, ENDPOINTS)
        ),
        DOCS / "cli.md": "".join([CLI, *_commands()]),
        DOCS / "configuration.md": "".join([CONFIGURATION, *_settings()]),
        DOCS / "metrics.md": METRICS_PAGE
        + _table(("Name", "Type", "Labels", "What it counts"), map(_metric_row, METRICS))
        + METRICS_END,
    }


def stale(wanted: Mapping[Path, str]) -> list[Path]:
    """Pages that are missing or hold something else."""
    return [path for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code: 1 if `--check` found something stale."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.reference", description="Write the reference pages."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is stale")
    check = parser.parse_args(arguments).check
    wanted = pages()
    for path in stale(wanted):
        if check:
            print(f"{path.name} is stale; run python -m tools.reference", file=sys.stderr)
        else:
            path.write_text(wanted[path], "utf-8")
    return 1 if check and stale(wanted) else 0


def _settings() -> Iterator[str]:
    head = ("Key", "Default", "Valid", "What it is")
    yield _table(head, ((f"`{k.name}`", f"`{k.default}`", k.kind.valid, k.doc) for k in KEYS.values()))
    ours = [key for key in BROKER_KEYS.values() if key.cluster_wide]
    others = [key for key in BROKER_KEYS.values() if key not in ours]
    yield DYNAMIC + _table(head, map(_dynamic_row, ours))
    yield BROKER_SETTINGS + _table(head, map(_dynamic_row, others))
    yield TOPIC_SETTINGS + _table(head, (_dynamic_row(TOPIC_KEYS[name]) for name in TOPIC_SETTINGS_THAT_ACT))


def _dynamic_row(key: ConfigKey) -> tuple[str, ...]:
    return f"`{key.name}`", _dynamic_default(key), key.check(OUT_OF_RANGE) or "", key.doc


def _dynamic_default(key: ConfigKey) -> str:
    if key.name in KEYS:
        return "the server's"
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
        for each in command.list_commands(context):
            nested = command.get_command(context, each)
            if nested is not None:
                yield from _command(nested, each, context)


def _endpoint_row(each: Endpoint) -> tuple[str, ...]:
    query = ", ".join(f"`{parameter.name}`" for parameter in each.query)
    gives = f"{each.gives}, one a line" if each.lines else each.gives
    return each.method, f"`{each.path}`", query, each.takes or "", gives, each.summary


def _metric_row(metric: Metric) -> tuple[str, ...]:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"`{exposed_name(metric)}`", metric.kind, labels, metric.doc


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
