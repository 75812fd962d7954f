"""What tests do with a page in any browser, by its scripts and keys."""

import json
import time
from abc import ABC, abstractmethod
from typing import Any

PATIENCE_SECONDS = 60.0


class DrivenPage(ABC):
    """A tab of a browser."""

    @abstractmethod
    def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""

    @abstractmethod
    def press(self, key: str) -> None:
        """Press and release a key."""

    def wait(self, script: str) -> None:
        """Return as soon as the expression is true."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.run(f"Boolean({script})"):
            if time.monotonic() > deadline:
                raise AssertionError(f"never true: {script}; the page shows: {self.text('body')}")
            time.sleep(0.05)

    def text(self, selector: str) -> str:
        """Return the visible text of an element, no-break spaces as spaces; empty without one."""
        text: str = self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")
        return text.replace("\xa0", " ")

    def tab_to(self, label: str) -> None:
        """Press Tab until the focus is on the element with this accessible label, or this text."""
        focused = "(e => e.getAttribute('aria-label') ?? e.innerText ?? '')(document.activeElement)"
        for _ in range(200):
            if str(self.run(focused)).strip() == label:
                return
            self.press("Tab")
        raise AssertionError(f"Tab does not reach {label!r}")
