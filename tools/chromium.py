"""Headless Chromium for tests of the page and its screenshots, driven by the Chrome DevTools Protocol over a pipe.

The pipe needs no driver program and no port. A message is JSON that ends with a zero byte.
"""

import base64
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "no Chromium: tests of the page in a browser need it (Debian: apt-get install chromium)"
PATIENCE_SECONDS = 60.0
KEYS = {"Enter": 13, "Tab": 9, "Escape": 27, " ": 32}


def chromium() -> str | None:
    """Return the path of the browser; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A browser process with an empty profile."""

    def __init__(self, program: str, profile: Path) -> None:
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        # Chromium reads from descriptor 3 and writes to descriptor 4.
        script = f'exec "$0" "$@" 3<&{commands} 4>&{answers}'
        options = (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        )
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                script,
                program,
                *options,
                "--remote-debugging-pipe",
                f"--user-data-dir={profile}",
            ],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(commands)
        os.close(answers)
        self._received = b""
        self._number = 0

    def call(self, method: str, session: str = "", **parameters: Any) -> Any:
        """Send a command; return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        os.write(
            self._commands, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0"
        )
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, url: str) -> "Page":
        """Open a tab."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        page.go(url)
        return page

    def close(self) -> None:
        """End the process."""
        # The program may be a script that starts the browser as its child.
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE_SECONDS)
        os.close(self._commands)
        os.close(self._answers)

    def _next(self) -> Any:
        while b"\0" not in self._received:
            received = os.read(self._answers, 1 << 20)
            assert received, "the browser has ended"
            self._received += received
        message, _, self._received = self._received.partition(b"\0")
        return json.loads(message)


class Page:
    """A tab."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        self.call("Page.enable")
        self.call("Runtime.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command to the tab; return its result."""
        return self._browser.call(method, self._session, **parameters)

    def go(self, url: str) -> None:
        """Load the page at the URL."""
        # Until the new document is there, scripts run in the old one, or in none.
        self.call("Page.navigate", url=url)
        self._until(lambda: self._is_loaded(url), f"{url} is loaded")

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, script: str) -> None:
        """Return as soon as the expression is true."""
        self._until(lambda: self.run(f"Boolean({script})"), script)

    def _until(self, condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.05)
        raise AssertionError(f"never true: {what}; the page shows: {self.text('body')}")

    def _is_loaded(self, url: str) -> bool:
        script = f"location.href === {json.dumps(url)} && document.readyState === 'complete'"
        try:
            return bool(self.run(script))
        except AssertionError:
            return False

    def text(self, selector: str) -> str:
        """Return the visible text of an element, no-break spaces as spaces; empty without one."""
        text: str = self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")
        return text.replace("\xa0", " ")

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key."""
        text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
        code = KEYS.get(key, 0)
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Insert the text at the focus."""
        self.call("Input.insertText", text=text)

    def tab_to(self, label: str) -> None:
        """Press Tab until the focus is on the element with this accessible label, or this text."""
        focused = "(e => e.getAttribute('aria-label') ?? e.innerText ?? '')(document.activeElement)"
        for _ in range(200):
            if str(self.run(focused)).strip() == label:
                return
            self.press("Tab")
        raise AssertionError(f"Tab does not reach {label!r}")

    def attach(self, selector: str, file: Path) -> None:
        """Choose the file in a field for files."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", files=[str(file)], nodeId=node)

    def outside(self) -> list[str]:
        """Return the visible elements that reach beyond the right edge of the window."""
        # Heads that are there for screen readers only are clipped.
        found: list[str] = self.run(
            "[...document.querySelectorAll('body *:not(thead *)')].filter((each) => each.checkVisibility()"
            " && each.getBoundingClientRect().right > innerWidth).map((each) => each.outerHTML)"
        )
        return found

    def resize(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Set the size of the window, and its color scheme."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)

    def screenshot(self, path: Path, area: Mapping[str, float] | None = None) -> None:
        """Save a picture as PNG: of an area (`x`, `y`, `width`, `height`), or of the whole page."""
        clip = {**(area or self.call("Page.getLayoutMetrics")["cssContentSize"]), "scale": 1}
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        path.write_bytes(base64.b64decode(data))
