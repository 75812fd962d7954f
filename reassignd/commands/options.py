"""Options that every verb has which asks a running server."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

DEFAULT_URL = "http://127.0.0.1:9080"
FILE = click.Path(path_type=Path)
JSON = "json"

PLAN_FILE = click.option(
    "--reassignment-json-file",
    "plan_file",
    metavar="PLAN",
    type=FILE,
    required=True,
    help="The plan, as for kafka-reassign-partitions; - reads it from stdin.",
)

WAIT = click.option(
    "--wait", is_flag=True, help="Show progress until the job has ended; exit 1 if not as ordered."
)
TIMEOUT = click.option(
    "--timeout", metavar="SECONDS", type=click.FloatRange(min=0), help="With --wait: how long at most."
)

FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["text", JSON]),
    default="text",
    help="What is printed: for people, or the API's JSON.",
)
JSON_ANYWAY = click.option(
    "--format", type=click.Choice(["text", JSON]), expose_value=False, help="It is JSON in any case."
)

_OPTIONS = (
    click.option(
        "--url",
        metavar="URL",
        envvar="REASSIGND_URL",
        default=DEFAULT_URL,
        help=f"The server's HTTP listener, or unix:PATH; also by REASSIGND_URL.  [default: {DEFAULT_URL}]",
    ),
    click.option(
        "--token-file",
        metavar="FILE",
        type=FILE,
        envvar="REASSIGND_TOKEN_FILE",
        help="A file with the bearer token; also by REASSIGND_TOKEN_FILE.",
    ),
    click.option("--ca-file", metavar="FILE", type=FILE, help="Authorities (PEM) to trust for https."),
    click.option(
        "--certificate-file", metavar="FILE", type=FILE, help="A client certificate and its key (PEM)."
    ),
)


def asks_server(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the command is given a client before its own parameters."""

    @wraps(command)
    def run(
        url: str,
        token_file: Path | None,
        ca_file: Path | None,
        certificate_file: Path | None,
        **parameters: Any,
    ) -> Any:
        from reassignd.client import Client, Target

        with Client(Target(url, token_file, ca_file, certificate_file)) as client:
            return command(client, **parameters)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run
