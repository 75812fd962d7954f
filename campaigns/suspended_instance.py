"""`python -m campaigns.suspended_instance` is the command `reassignd` for campaigns with several instances.

Its idle beats are transactions, which usually are written once an hour, and it suspends itself when it is
told to. It does so where the lease matters: the step is durable, and is about to be sent. STOP_FILE names the
file that tells it. With WITHOUT_LEASE=yes the lease is not checked; `campaigns.survival` must find fault with
that, else it proves nothing.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from backends.state_topic import writer
from backends.state_topic.claim import Lease, StepPermit
from backends.upstream.client import UpstreamClient
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from reassignd.cli import main

TRANSACTION_SECONDS = 10.0
"""After this time the next idle beat is a transaction."""

STOP_FILE, WITHOUT_LEASE = "CAMPAIGN_STOP_FILE", "CAMPAIGN_WITHOUT_LEASE"

_ask: Any = UpstreamClient.ask


def suspend_if_told(request: object) -> None:
    """Suspend the process before it sends steps, if the file exists."""
    if not isinstance(request, AlterPartitionReassignmentsRequest) or not request.topics:
        return
    file = Path(os.environ[STOP_FILE])
    if file.exists():
        file.unlink()
        os.kill(os.getpid(), signal.SIGSTOP)


async def ask(client: UpstreamClient, request: object, *details: object, **more: object) -> object:
    """Replaces `UpstreamClient.ask`."""
    suspend_if_told(request)
    return await _ask(client, request, *details, **more)


if __name__ == "__main__":
    writer.TRANSACTION_SECONDS = TRANSACTION_SECONDS
    UpstreamClient.ask = ask  # type: ignore[assignment, method-assign]
    if os.environ.get(WITHOUT_LEASE) == "yes":
        Lease.valid = property(lambda _: True)  # type: ignore[assignment, method-assign]
        StepPermit.__call__ = lambda _: True  # type: ignore[assignment, method-assign]
    sys.exit(main())
