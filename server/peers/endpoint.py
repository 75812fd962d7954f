"""Answers forwarded requests at the active instance.

A request that is forwarded again, because the connection was lost before its answer, gets the answer of the first
attempt. So within a term a forwarded request is executed once. After a change of the active instance it is executed
again. A request whose client has gone is given up, unless the driver has it already.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine
from typing import Any, cast

from protocol.frames import RequestFrame
from server.dispatch.router import Caller
from server.peers.messages import Client
from server.peers.switch import Switch
from server.ports import BrokerPort
from server.relay.session import RelayedBroker

KEPT = 1_000
"""Answers that are kept for requests that are forwarded again."""

LARGEST_KEPT = 64 * 1024
"""Bytes. Larger answers are lists, or answers to plans, whose repetition changes nothing."""


class PeerEndpoint:
    """Answers by the switch of this instance."""

    def __init__(self, switch: Switch) -> None:
        self._switch = switch
        self._answers: OrderedDict[tuple[str, int], asyncio.Task[bytes]] = OrderedDict()
        """Instance and id of the request -> its answer."""

    async def answer(self, instance: str, number: int, frame: RequestFrame, client: Client) -> bytes:
        """Answer the request of an instance. Raises NotActiveError and DecodeError."""
        key = instance, number
        task = self._answers.get(key)
        if task is None:
            task = self._answers[key] = asyncio.create_task(
                self._answer(instance, frame, client), name="forwarded request"
            )
            task.add_done_callback(lambda done: self._answered(key, done))
        # The request goes on when the connection on which it came is lost.
        return await asyncio.shield(task)

    def give_up(self, instance: str, number: int) -> None:
        """Do not execute the request, if that has not happened: its client has gone."""
        task = self._answers.get((instance, number))
        if task is not None:
            task.cancel()

    def _answer(self, instance: str, frame: RequestFrame, client: Client) -> Coroutine[Any, Any, bytes]:
        broker = cast(BrokerPort, RelayedBroker(client.listener))
        caller = Caller(broker, client.principal, client.address, via=instance)
        return self._switch.answer_forwarded(frame, caller)

    def _answered(self, key: tuple[str, int], done: asyncio.Task[bytes]) -> None:
        failed = done.cancelled() or done.exception() is not None
        if failed or len(done.result()) > LARGEST_KEPT:
            del self._answers[key]
        while len(self._answers) > KEPT and next(iter(self._answers.values())).done():
            self._answers.popitem(last=False)
