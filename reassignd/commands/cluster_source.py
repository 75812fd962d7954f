"""Where commands read a cluster from, and the command `snapshot`, which saves it for `plan` and `propose`.

A cluster is read from a running server, a snapshot file, or the brokers of any Kafka.
"""

import asyncio
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click

from planner.model.snapshot import (
    Broker,
    LogDir,
    Partition,
    Snapshot,
    lines,
    packed,
    parse_snapshot,
    read_snapshot,
)
from reassignd.commands.help import examples
from reassignd.commands.options import FILE, FORMAT_IGNORED, with_client
from reassignd.commands.output import echo
from reassignd.config.errors import CommandError
from reassignd.config.setting_types import SERVERS

if TYPE_CHECKING:
    from backends.client.security import Security
    from backends.upstream.description import DescribedBroker, DescribedPartition, Description
    from common.address import Address
    from reassignd.client import Client


R = TypeVar("R")

BOOTSTRAP_SERVER = click.option(
    "--bootstrap-server",
    metavar=SERVERS.metavar,
    help="Read the cluster from these brokers of Kafka, without a running server of reassignd.",
)
COMMAND_CONFIG = click.option(
    "--command-config",
    metavar="FILE",
    type=FILE,
    help="With --bootstrap-server: client properties, as for Kafka's own tools.",
)


SNAPSHOT = click.option(
    "--snapshot",
    metavar="FILE",
    type=FILE,
    help="The cluster, from `reassignd snapshot`.  [default: the cluster of the running server]",
)


class Source(NamedTuple):
    """The options that choose a cluster; without any of them it is the cluster of the running server."""

    snapshot: Path | None = None
    bootstrap_server: str | None = None
    command_config: Path | None = None

    def check(self) -> None:
        """Raise UsageError for options that contradict each other."""
        if self.snapshot is not None and self.bootstrap_server is not None:
            raise click.UsageError("--snapshot and --bootstrap-server cannot be used together")
        if self.command_config is not None and self.bootstrap_server is None:
            raise click.UsageError("--command-config needs --bootstrap-server")

    @property
    def of_server(self) -> bool:
        """The cluster is that of the running server."""
        return self.snapshot is None and self.bootstrap_server is None

    def read(self, client: "Client") -> Snapshot:
        """Return the cluster. Raises CommandError, PlanError."""
        if self.bootstrap_server is not None:
            return read_kafka(self.bootstrap_server, self.command_config)
        return read_snapshot(self.snapshot) if self.snapshot is not None else read_server(client)

    def chunks(self, client: "Client") -> Iterator[bytes]:
        """Yield the cluster as JSON lines. Raises CommandError, PlanError."""
        if self.snapshot is not None:
            return lines(read_snapshot(self.snapshot))
        if self.bootstrap_server is not None:
            return lines(read_kafka(self.bootstrap_server, self.command_config))
        return client.stream("/v1/snapshot")

    @contextmanager
    def as_file(self, client: "Client") -> Iterator[Path]:
        """Return a file or folder with the cluster: a temporary one for a server, brokers or a pipe.

        Raises like `chunks`.
        """
        if self.snapshot is not None and not self.snapshot.is_fifo():
            yield self.snapshot
            return
        with TemporaryDirectory(prefix="reassignd-") as folder:
            path = Path(folder) / "snapshot.jsonl"
            with path.open("wb") as file:
                file.writelines(self.chunks(client))
            yield path


def with_kafka(command: Callable[..., R]) -> Callable[..., R]:
    """Add --bootstrap-server and --command-config."""
    return BOOTSTRAP_SERVER(COMMAND_CONFIG(command))


def with_source(command: Callable[..., R]) -> Callable[..., R]:
    """Add --snapshot and the options of `with_kafka`, and pass them as a `source`."""

    @wraps(command)
    def run(
        *arguments: object,
        snapshot: Path | None,
        bootstrap_server: str | None,
        command_config: Path | None,
        **values: object,
    ) -> R:
        source = Source(snapshot, bootstrap_server, command_config)
        source.check()
        return command(*arguments, source=source, **values)

    return SNAPSHOT(with_kafka(run))


def read_server(client: "Client") -> Snapshot:
    """Return the cluster of the running server. Raises CommandError, PlanError."""
    text = b"".join(client.stream("/v1/snapshot"))
    return parse_snapshot("the server's snapshot", text.splitlines())


def read_kafka(bootstrap_server: str, command_config: Path | None = None) -> Snapshot:
    """Return the cluster of these brokers. What cannot be read, such as sizes, is named on stderr.

    Raises CommandError, ConfigError.
    """
    from backends.client.errors import BrokerError
    from backends.client.security import PLAINTEXT
    from reassignd.config import command_config as client_properties

    try:
        servers = SERVERS.parse(bootstrap_server)
    except ValueError:
        servers = ()
    if not servers:
        raise CommandError(f"--bootstrap-server '{bootstrap_server}': expected {SERVERS.valid}")
    security = PLAINTEXT if command_config is None else client_properties.load(command_config)
    try:
        described = asyncio.run(_described(servers, security))
    except BrokerError as error:
        raise CommandError(f"--bootstrap-server {bootstrap_server}: {error}") from error
    for gap in described.gaps:
        echo(f"reassignd: not read: {gap}", err=True)
    return _snapshot(described)


async def _described(servers: "Sequence[Address]", security: "Security") -> "Description":
    from backends.client.handshake import ClientSettings
    from backends.upstream.client import UpstreamClient
    from backends.upstream.description import describe
    from reassignd.config.version import __version__

    client = UpstreamClient(servers, ClientSettings(software_version=__version__, security=security))
    try:
        return await describe(client)
    finally:
        await client.close()


def _snapshot(described: "Description") -> Snapshot:
    brokers = {each.broker.id: _broker(each) for each in described.brokers}
    partitions = {(row.topic, row.partition): row for row in map(_partition, described.partitions)}
    return Snapshot(brokers, partitions, described.cluster_id or None)


def _partition(described: "DescribedPartition") -> Partition:
    key, replicas, isr, leader, size, min_isr, target, sizes, log_dirs, tiered, meanwhile, failed = described
    own = packed(sizes), log_dirs
    return Partition(*key, replicas, isr, leader, size, min_isr, target, *own, tiered, meanwhile, failed)


def _broker(described: "DescribedBroker") -> Broker:
    listed, dirs = described
    known = {
        each.log_dir: LogDir(each.total_bytes, each.usable_bytes, each.is_cordoned)
        if each.total_bytes > 0
        else LogDir(cordoned=each.is_cordoned)
        for each in dirs
    }
    return Broker(
        listed.id,
        listed.rack,
        not listed.fenced,
        listed.host,
        listed.port,
        described.disk_bytes,
        known or None,
    )


PARQUET = ".parquet"


@click.command(
    epilog=examples(
        "reassignd snapshot --output cluster.jsonl",
        "reassignd snapshot --bootstrap-server kafka:9092 --output cluster.parquet",
    )
)
@click.option(
    "--output",
    metavar="FILE",
    type=FILE,
    help="Output file: Parquet if the name ends with .parquet, else JSON lines.  [default: stdout]",
)
@with_kafka
@FORMAT_IGNORED
@with_client
def snapshot(
    client: "Client", output: Path | None, bootstrap_server: str | None, command_config: Path | None
) -> None:
    """Print all brokers and partitions as JSON lines, for `reassignd plan` and `reassignd propose`."""
    source = Source(None, bootstrap_server, command_config)
    source.check()
    chunks = source.chunks(client)
    if output is None:
        for chunk in chunks:
            click.echo(chunk, nl=False)
        return
    try:
        _write(chunks, output)
    except OSError as error:
        raise CommandError(f"cannot write {output}: {error.strerror}") from error


def _write(chunks: Iterable[bytes], output: Path) -> None:
    """Write a temporary file first and rename it, so that the output is never incomplete.

    Nobody can know its name before: in a directory of all users, another one could put a link there.
    """
    name = f".{secrets.token_hex(8)}.{output.name}"
    temporary, table = output.with_name(f"{name}.lines"), output.with_name(name)
    try:
        with temporary.open("xb") as file:
            file.writelines(chunks)
        if output.suffix == PARQUET:
            from planner.model.snapshot import read_snapshot, write_snapshot

            write_snapshot(read_snapshot(temporary), table)
            table.replace(output)
        else:
            temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)
        table.unlink(missing_ok=True)
