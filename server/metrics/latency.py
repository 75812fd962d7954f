"""How long answers take, by API key (Kafka: RequestMetrics, TotalTimeMs without the time in the socket)."""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from time import perf_counter

from protocol.frames import RequestFrame
from server.connections.session import Answer
from server.dispatch.router import Caller


class RequestLatency:
    """Stands before `answer` and takes the time; `clock` gives seconds."""

    def __init__(self, answer: Answer, clock: Callable[[], float] = perf_counter) -> None:
        self._answer = answer
        self._clock = clock
        self.answers: Counter[int] = Counter()
        self.seconds: defaultdict[int, float] = defaultdict(float)

    def answer(self, frame: RequestFrame, caller: Caller) -> bytes | Awaitable[bytes]:
        """As `server.dispatch.router.Router.answer`."""
        began = self._clock()
        answer = self._answer(frame, caller)
        if isinstance(answer, bytes):
            self._note(frame.api_key, began)
            return answer
        return self._later(frame.api_key, began, answer)

    async def _later(self, api_key: int, began: float, answer: Awaitable[bytes]) -> bytes:
        made = await answer
        self._note(api_key, began)
        return made

    def _note(self, api_key: int, began: float) -> None:
        self.answers[api_key] += 1
        self.seconds[api_key] += self._clock() - began
