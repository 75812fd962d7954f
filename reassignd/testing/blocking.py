"""An embedded cluster for tests that block: it runs in an event loop in a thread of its own."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import Self, TypeVar

from controller.model.cluster import Partition
from controller.state.state import State
from reassignd.embedded import EmbeddedCluster

T = TypeVar("T")

__tracebackhide__ = True
"""pytest leaves the frames of this module out, so that the report of a failed test ends at a line of the
test."""


class BlockingCluster:
    """The methods of `EmbeddedCluster` as blocking calls. Serves inside `with`."""

    def __init__(self, make: Callable[[], EmbeddedCluster]) -> None:
        self._make = make
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="reassignd cluster", daemon=True)
        self._entered: EmbeddedCluster | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._entered = self._make()
            self._run(self._entered.__aenter__())
        except BaseException:
            self._entered = None
            self._end_loop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._run(self._cluster.__aexit__())
        finally:
            self._entered = None
            self._end_loop()

    @property
    def bootstrap_servers(self) -> str:
        """See `EmbeddedCluster.bootstrap_servers`."""
        return self._cluster.bootstrap_servers

    def read(self, view: Callable[[State], T]) -> T:
        """Return `view(state)`, called between two decisions of the controller."""
        viewed: Future[T] = Future()

        def run_view(state: State) -> None:
            try:
                viewed.set_result(view(state))
            except BaseException as error:  # noqa: BLE001 - the test raises it; here some would end the loop
                viewed.set_exception(error)

        self._run(self._cluster.read(run_view))
        return _result(viewed)

    def create_topic(self, name: str, assignment: Sequence[Sequence[int]]) -> None:
        """See `EmbeddedCluster.create_topic`."""
        self._run(self._cluster.create_topic(name, assignment))

    def wait_until_done(self, *topics: str, seconds: float = 30.0) -> None:
        """See `EmbeddedCluster.wait_until_done`."""
        self._run(self._cluster.wait_until_done(*topics, seconds=seconds))

    def expect_moving(
        self,
        topic: str,
        partition: int = 0,
        *,
        adding: Sequence[int] | None = None,
        removing: Sequence[int] | None = None,
        seconds: float = 5.0,
    ) -> Partition:
        """See `EmbeddedCluster.expect_moving`."""
        call = self._cluster.expect_moving(
            topic, partition, adding=adding, removing=removing, seconds=seconds
        )
        return self._run(call)

    def advance(self, seconds: float) -> None:
        """See `EmbeddedCluster.advance`."""
        self._run(self._cluster.advance(seconds))

    def stop_broker(self, broker: int, *, controlled: bool = True) -> None:
        """See `EmbeddedCluster.stop_broker`."""
        self._run(self._cluster.stop_broker(broker, controlled=controlled))

    def start_broker(self, broker: int) -> None:
        """See `EmbeddedCluster.start_broker`."""
        self._run(self._cluster.start_broker(broker))

    def slow_broker(self, broker: int, factor: float) -> None:
        """See `EmbeddedCluster.slow_broker`."""
        self._run(self._cluster.slow_broker(broker, factor))

    def fail_log_dir(self, broker: int, path: str) -> None:
        """See `EmbeddedCluster.fail_log_dir`."""
        self._run(self._cluster.fail_log_dir(broker, path))

    @property
    def _cluster(self) -> EmbeddedCluster:
        if self._entered is None:
            raise RuntimeError("the cluster is not running: use it inside `with`")
        return self._entered

    def _run(self, call: Coroutine[None, None, T]) -> T:
        if threading.current_thread() is self._thread:
            call.close()
            raise RuntimeError("inside `read` the cluster waits: its methods cannot be called there")
        return _result(asyncio.run_coroutine_threadsafe(call, self._loop))

    def _end_loop(self) -> None:
        self._run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _result(done: Future[T]) -> T:
    # `result` would raise it in a frame of its own.
    if error := done.exception():
        raise error
    return done.result()
