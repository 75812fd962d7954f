"""Names that may have been meant, for error messages."""

from difflib import get_close_matches
from itertools import islice

from controller.model.names import display_name
from controller.state.state import State

MOST = 1_000
"""Names that are compared, which takes a few milliseconds."""
LENGTHS = 3
"""Names whose lengths differ by more are not similar."""


def topic_hint(state: State, name: str) -> str:
    """Return ` Did you mean orders?` if the topic is unknown and another one has a similar name, else an empty text."""
    if name in state.topics:
        return ""
    ends = {name[:1].lower(), name[-1:].lower()}
    candidates = (
        each
        for each in state.topics
        if abs(len(each) - len(name)) <= LENGTHS and not ends.isdisjoint({each[0].lower(), each[-1].lower()})
    )
    similar = get_close_matches(name, islice(candidates, MOST), 1)
    return f" Did you mean {display_name(similar[0])}?" if similar else ""
