"""Topics by a regular expression, as the parameters of Cruise Control name them.

Python's matcher tries all ways in which a name can be divided among the repetitions of an expression, and
holds up everything else meanwhile. So an expression that could take long is refused.
"""

import re
from collections.abc import Collection

from server.cruisecontrol.shared.call import CruiseControlCall
from server.cruisecontrol.shared.errors import bad_parameter

SHOWN_LENGTH = 80
"""Characters of an expression in an error message."""

MOST_REPETITIONS = 3
"""Of an alternative: the time to match a name grows with this power of its length."""

_LITERALS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
"""Escaped characters and sets of characters."""
_PART = re.compile(r"[(|)]|(?:[*+?]|\{\d*,?\d*\})[?+]?")
"""Parts of a group, and repetitions."""
_REPEATED_GROUP = re.compile(r"\)[*+{]")
_OTHER_GROUP = re.compile(r"\(\?(?!:|=|!|<=|<!|i\))")
"""Named groups, comments, and flags, by which a part of the expression could be hidden."""


async def chosen_topics(call: CruiseControlCall, text: str) -> Collection[str]:
    """Return the topics whose whole names match; all for an empty text. Raises CruiseControlError."""
    pattern, partitions = topic_pattern(text), call.state.cluster.partitions
    if pattern is None:
        return partitions.keys()
    names = list(partitions)

    def matching() -> Collection[str]:
        return {name for name in names if pattern.fullmatch(name)}

    return await call.call.off_loop.run(matching)


def topic_pattern(text: str) -> re.Pattern[str] | None:
    """Return the expression, which whole names match; None for an empty text. Raises CruiseControlError."""
    if not text:
        return None
    shown = text[:SHOWN_LENGTH]
    try:
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise bad_parameter(f"The expression '{shown}' is not valid: {error}.") from error
    if _can_take_long(text):
        raise bad_parameter(
            f"The expression '{shown}' could take too long: no group may be repeated or have a name, and an"
            f" alternative has {MOST_REPETITIONS} repetitions at most."
        )
    return pattern


def _can_take_long(text: str) -> bool:
    plain = _LITERALS.sub("x", text)
    if _REPEATED_GROUP.search(plain) or _OTHER_GROUP.search(plain):
        return True
    return _repetitions(plain.replace("(?", "(")) > MOST_REPETITIONS


def _repetitions(plain: str) -> int:
    """Return the number of repetitions of the alternative that has the most."""
    levels = [(0, 0)]  # of each open group: the most of its alternatives so far, and those of the last one
    for part in _PART.findall(f"{plain})"):
        most, count = levels.pop()
        if part == "(":
            levels += [(most, count), (0, 0)]
        elif part == "|":
            levels.append((max(most, count), 0))
        elif part == ")":
            outer_most, outer_count = levels.pop() if levels else (0, 0)
            levels.append((outer_most, outer_count + max(most, count)))
        else:
            levels.append((most, count + 1))
    return levels[0][1]
