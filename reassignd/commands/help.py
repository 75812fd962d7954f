"""Parts of the help of commands that click does not write."""


def examples(*lines: str) -> str:
    """Return the end of a command's help: its examples, a line each."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
