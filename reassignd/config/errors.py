"""Errors that end the command, with one line on stderr. The class determines the exit code."""

from collections.abc import Sequence


class ConfigError(Exception):
    """A setting is invalid (exit code 2). The text is one line for the person who wrote it."""


class CommandError(Exception):
    """The command has failed (exit code 1). The text is one line with the fault and the remedy.

    `faults` has a line for each wrong entry of a plan, if they are several.
    """

    def __init__(self, text: str, faults: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.faults = faults


class SettingError(CommandError):
    """Settings do not fit together, or a file that one names cannot be read or used (exit code 2).

    A supervisor need not start the command again: it fails until a person changes something.
    """


class UnreachableError(CommandError):
    """The server did not respond. A later attempt may succeed."""
