"""The question before a command that takes something back or ends something: only on a terminal."""

import sys

import click

YES = click.option("-y", "--yes", is_flag=True, help="Do not ask on a terminal.")


def asks(*, yes: bool) -> bool:
    """Whether `confirm` asks: on a terminal, without --yes."""
    return not yes and sys.stdin.isatty() and sys.stdout.isatty()


def confirm(question: str, *, yes: bool) -> None:
    """Ask, unless `yes`. Without a terminal nothing is asked. Ends the command with code 1 after a no."""
    if asks(yes=yes) and not click.confirm(question, err=True):
        click.echo("Nothing was changed.", err=True)
        raise click.exceptions.Exit(1)
