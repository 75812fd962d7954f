"""Exceptions that end the command with one line on stderr and an exit code."""


class ConfigError(Exception):
    """An invalid setting (exit code 2). The message is one line for the operator."""


class CommandError(Exception):
    """A failure (exit code 1). The message is one line that says what to do."""


class UnreachableError(CommandError):
    """The server did not respond; a retry may succeed."""
