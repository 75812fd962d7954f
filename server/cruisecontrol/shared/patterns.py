"""Topics by a regular expression, as the parameters of Cruise Control name them."""

import re

from server.cruisecontrol.shared.errors import bad_parameter

SHOWN_LENGTH = 80
"""Characters of an expression in an error message."""


def topic_pattern(text: str) -> re.Pattern[str] | None:
    """Return the expression, which whole names match; None for an empty text. Raises CruiseControlError."""
    if not text:
        return None
    try:
        return re.compile(text)
    except re.error as error:
        shown = text[:SHOWN_LENGTH]
        raise bad_parameter(f"The expression '{shown}' is not valid: {error}.") from error
