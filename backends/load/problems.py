"""Why figures are missing: one line for each reason, with the brokers that it is about."""

import logging
from collections.abc import Sequence

from common.error_codes import error_name
from common.wording import some

log = logging.getLogger(__name__)

NAMED = 3
"""Brokers that a line names."""
MOST = 20
"""Lines."""


def refusal(request: str, code: int, right: str, figure: str) -> str:
    """Return that a request was refused, which right is missing, and which figure."""
    return f"{request} is refused ({error_name(code)}): {figure} are unknown. Allow {right}"


class Problems:
    """Those of the present round. Each is logged when it is new."""

    def __init__(self) -> None:
        self._present: dict[str, list[int]] = {}
        self._logged: set[str] = set()

    def begin(self) -> None:
        """Begin a round."""
        self._present = {}

    def add(self, text: str, broker: int | None = None) -> None:
        """Note a problem of the cluster, or of a broker."""
        if text in self._present or len(self._present) < MOST:
            brokers = self._present.setdefault(text, [])
            if broker is not None and broker not in brokers:
                brokers.append(broker)

    def lines(self) -> Sequence[str]:
        """Return one line for each problem."""
        return [
            f"broker {some([str(each) for each in sorted(brokers)], NAMED)}: {text}" if brokers else text
            for text, brokers in self._present.items()
        ]

    def log(self, exc_info: BaseException | None = None) -> None:
        """Log the problems that were not there before."""
        for text, line in zip(self._present, self.lines(), strict=True):
            if text not in self._logged:
                log.warning("load: %s", line, exc_info=exc_info)
        self._logged = set(self._present)
