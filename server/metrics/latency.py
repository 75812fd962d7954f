"""Response times by API key (Kafka: RequestMetrics.TotalTimeMs, without the time in the socket)."""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from time import perf_counter

from protocol.frames import RequestFrame
from server.connections.session import Answer
from server.dispatch.router import Caller


class RequestLatency:
    """Wraps `answer` and measures the time of each call. `clock` returns seconds."""

    def __init__(self, answer: Answer, clock: Callable[[], float] = perf_counter) -> None:
        self._answer = answer
        self._clock = clock
        self.answers: Counter[int] = Counter()
        self.seconds: defaultdict[int, float] = defaultdict(float)

    def answer(self, frame: RequestFrame, caller: Caller) -> bytes | Awaitable[bytes]:
        """Answer the request, as `server.dispatch.router.Router.answer` does."""
        start = self._clock()
        answer = self._answer(frame, caller)
        if isinstance(answer, bytes):
            self._record(frame.api_key, start)
            return answer
        return self._answer_later(frame.api_key, start, answer)

    async def _answer_later(self, api_key: int, start: float, answer: Awaitable[bytes]) -> bytes:
        data = await answer
        self._record(api_key, start)
        return data

    def _record(self, api_key: int, start: float) -> None:
        self.answers[api_key] += 1
        self.seconds[api_key] += self._clock() - start
