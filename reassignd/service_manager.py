"""Messages to systemd: ready, stopping, a status line, and signs of life (sd_notify(3), `Type=notify`, `WatchdogSec=`).

A message is a datagram to the socket whose path systemd gives in NOTIFY_SOCKET. Without that variable nothing is sent. The
library `systemd-python` is not used: it needs a compiler and libsystemd.
"""

import asyncio
import logging
import socket
from collections.abc import Mapping

log = logging.getLogger(__name__)

SHARE = 0.5
"""A sign of life is sent after this share of the watchdog's time, as systemd recommends."""


class ServiceManager:
    """Sends messages to the service manager in whose environment the process was started."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        path = environment.get("NOTIFY_SOCKET", "")
        # A path that begins with @ is in the abstract namespace, which the kernel marks with a zero byte.
        self._address = f"\0{path[1:]}" if path.startswith("@") else path
        microseconds = environment.get("WATCHDOG_USEC", "")
        self.watchdog_seconds = int(microseconds) / 1e6 if microseconds.isdecimal() else 0.0
        """Time after which the manager ends a process that has sent no sign of life; 0 for no limit."""

    def ready(self) -> None:
        """Tell that requests are served."""
        self._send("READY=1\nSTATUS=serving")

    def stopping(self) -> None:
        """Tell that the process ends."""
        self._send("STOPPING=1\nSTATUS=stopping")

    def status(self, text: str) -> None:
        """Set the line that `systemctl status` shows."""
        self._send(f"STATUS={' '.join(text.split())}")

    async def stay_alive(self) -> None:
        """Send signs of life until cancelled. They end when the event loop hangs. Returns at once without a watchdog."""
        while self._address and self.watchdog_seconds:
            self._send("WATCHDOG=1")
            await asyncio.sleep(self.watchdog_seconds * SHARE)

    def _send(self, message: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
                channel.setblocking(False)
                channel.sendto(message.encode(), self._address)
        except OSError as error:
            log.debug("the service manager does not accept the message: %s", error)
