"""Headless Firefox for tests of the page: the system's browser, driven by Marionette, which is a part of it.

Playwright drives only a Firefox of its own, which is not a package.
"""

import json
import shutil
import socket
import subprocess
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any, Self

from tools.driven_page import PATIENCE_SECONDS, DrivenPage
from tools.ports import free_port

NAMES = ("firefox-esr", "firefox")
MISSING = "no Firefox: tests of the page in a second browser need it (Debian: apt-get install firefox-esr)"
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Space": " ", "Escape": "\ue00c"}


def firefox() -> str | None:
    """Return the path of the browser; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Firefox(DrivenPage):
    """A browser process with an empty profile, and its tab."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory()
        port = free_port()
        preference = f'user_pref("marionette.port", {port});\n'
        Path(self._profile.name, "user.js").write_text(preference, "utf-8")
        self._process = subprocess.Popen(
            [program, "--headless", "--marionette", "--no-remote", "--profile", self._profile.name],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._numbers = count(1)
        self._socket = self._connected(port)
        self._stream = self._socket.makefile("rb")
        self._received()
        self.call("WebDriver:NewSession")
        self.call("WebDriver:SetTimeouts", script=PATIENCE_SECONDS * 1000)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._socket.close()
        self._process.terminate()
        self._process.wait()
        self._profile.cleanup()

    def _connected(self, port: int) -> socket.socket:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.1)

    def _received(self) -> Any:
        """Return the next message, which is preceded by its length and a colon."""
        length = b""
        while (byte := self._stream.read(1)) != b":":
            if not byte:
                raise AssertionError("Firefox has ended the connection")
            length += byte
        return json.loads(self._stream.read(int(length)))

    def call(self, command: str, **parameters: Any) -> Any:
        """Send a command; return its result. Raises AssertionError."""
        message = json.dumps([0, next(self._numbers), command, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self._received()
        if error:
            raise AssertionError(f"{command}: {error['message']}")
        return result

    def go(self, url: str) -> None:
        """Load the page at the URL."""
        self.call("WebDriver:Navigate", url=url)

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        return self.call("WebDriver:ExecuteScript", script=f"return {script}", args=[])["value"]

    def press(self, key: str) -> None:
        """Press and release a key, or type a letter."""
        strokes = [{"type": kind, "value": KEYS.get(key, key)} for kind in ("keyDown", "keyUp")]
        self.call("WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": strokes}])

    def resize(self, width: int, height: int = 900) -> None:
        """Set the inner size of the window; headless Firefox is not narrower than 450 pixels."""
        self.call("WebDriver:SetWindowRect", width=width, height=height)
