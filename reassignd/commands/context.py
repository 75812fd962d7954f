"""The command `context`: servers by name, so that no command needs their address and token."""

from pathlib import Path
from typing import Any

import click

from common.wording import as_json, counted
from reassignd.commands.completion import context_names
from reassignd.commands.help import examples
from reassignd.commands.options import FILE, FORMAT, JSON
from reassignd.commands.output import echo
from reassignd.commands.table import columns, with_table
from reassignd.config.contexts import (
    Context,
    Contexts,
    check_context,
    contexts_file,
    read_contexts,
    write_contexts,
)

NAME = click.argument("name", metavar="NAME", shell_complete=context_names)


@click.group(
    epilog=examples(
        "reassignd context set prod --url https://reassignd.example:9080 --token-file ~/.reassignd-token",
        "reassignd context use prod",
        "reassignd context list",
    )
)
def context() -> None:
    """Keep servers by name: address, token file and certificates.

    The file of the user with the contexts has mode 0600; it has the paths of tokens, not the tokens. --url,
    REASSIGND_URL and --context take precedence over the context in use.
    """


@context.command("list", epilog=examples("reassignd context list"))
@with_table
def list_(output_format: str) -> None:
    """List the contexts."""
    known = read_contexts()
    if output_format == JSON:
        echo(as_json(_as_dict(known)))
        return
    if not known.by_name:
        echo("No contexts yet: `reassignd context set NAME --url URL` adds one.")
        return
    head = ("use", "name", "url", "token file", "ca file", "certificate file")
    rows = (
        ("*" if name == known.current else "", name, *(each or "" for each in known.by_name[name]))
        for name in sorted(known.by_name)
    )
    for line in columns(head, rows):
        echo(line)


@context.command("set", epilog=examples("reassignd context set prod --url https://reassignd.example:9080"))
@NAME
@click.option("--url", metavar="URL", help="URL of the server's HTTP listener, or unix:PATH.")
@click.option("--token-file", metavar="FILE", type=FILE, help="File with the bearer token.")
@click.option(
    "--ca-file", metavar="FILE", type=FILE, help="PEM file with the certificate authorities to trust."
)
@click.option(
    "--certificate-file", metavar="FILE", type=FILE, help="PEM file with a client certificate and its key."
)
@FORMAT
def set_(output_format: str, name: str, url: str | None, **files: Path | None) -> None:
    """Add a context, or change the given parts of one. The first one is used at once."""
    known = read_contexts()
    before = known.by_name.get(name)
    if url is None and before is None:
        raise click.UsageError("a new context needs --url")
    paths = {field: str(path.expanduser().absolute()) for field, path in files.items() if path is not None}
    changed = Context(url or (before.url if before else ""))
    if before is not None:
        changed = before._replace(url=changed.url)
    by_name = {**known.by_name, name: changed._replace(**paths)}
    check_context(name, changed.url, len(by_name))
    now = Contexts(by_name, known.current or name)
    write_contexts(now)
    used = " It is in use." if now.current == name else f" `reassignd context use {name}` uses it."
    _print(output_format, now, f"Context {name}: {changed.url}.{used}")


@context.command("use", epilog=examples("reassignd context use prod"))
@NAME
@FORMAT
def use(output_format: str, name: str) -> None:
    """Let commands use this context from now on."""
    known = read_contexts()
    url = known.named(name).url
    now = known._replace(current=name)
    write_contexts(now)
    _print(output_format, now, f"Context {name} is in use: {url}.")


@context.command("remove", epilog=examples("reassignd context remove prod"))
@NAME
@FORMAT
def remove(output_format: str, name: str) -> None:
    """Remove a context. The token file stays."""
    known = read_contexts()
    known.named(name)
    left = {each: found for each, found in known.by_name.items() if each != name}
    now = Contexts(left, known.current if known.current != name else None)
    write_contexts(now)
    _print(output_format, now, f"Context {name} is removed, {counted(len(left), 'context')} left.")


def _as_dict(known: Contexts) -> dict[str, Any]:
    fields = {name: each._asdict() for name, each in sorted(known.by_name.items())}
    return {"file": str(contexts_file()), "current": known.current, "contexts": fields}


def _print(output_format: str, known: Contexts, text: str) -> None:
    echo(as_json(_as_dict(known)) if output_format == JSON else text)
