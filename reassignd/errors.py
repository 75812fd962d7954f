"""What ends the command: one line on stderr, and the exit code that goes with the class."""


class ConfigError(Exception):
    """A setting that cannot be used (exit 2); the text is one line for the person who wrote it."""


class CommandError(Exception):
    """What was asked for could not be done (exit 1); the text is one line that says what to do."""


class UnreachableError(CommandError):
    """The server did not answer; it may the next time."""
