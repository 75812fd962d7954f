"""How to install the extras of the package. It has no public index, so they come from the wheel."""


def missing(what: str, needed: str, extra: str) -> str:
    """Return the message that `what` needs `needed`, which the extra brings."""
    ways = f"`install.sh --extras {extra} WHEEL`, or `pip install 'WHEEL[{extra}]'`"
    return f"{what} needs {needed}: {ways}"
