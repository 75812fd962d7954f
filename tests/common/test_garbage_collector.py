"""The garbage collector, kept off."""

import asyncio
import gc
import platform
import weakref
from collections.abc import Iterator
from functools import partial

import pytest

from common.garbage_collector import NEVER, QUICK, Sweeper, collect_young_only, gc_paused, give_back
from tests.server.sockets import until


def test_nothing_is_collected_while_paused() -> None:
    with gc_paused:
        assert not gc.isenabled()
    assert gc.isenabled()


def test_objects_are_frozen_after_a_pause() -> None:
    gc.unfreeze()
    with gc_paused:
        built: list[list[int]] = [[] for _ in range(1000)]
    assert gc.get_freeze_count() >= len(built)


def test_a_failure_ends_the_pause() -> None:
    with pytest.raises(KeyError), gc_paused:
        raise KeyError
    assert gc.isenabled()


class Cycle:
    """It leads to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def thawed() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.freeze()  # so that other tests do not scan what lives to the end


def left_behind() -> "weakref.ref[Cycle]":
    """An unreachable cycle that young collections do not find."""
    cycle = Cycle()
    gc.collect(1)
    return weakref.ref(cycle)


def freed(cycle: "weakref.ref[Cycle]") -> bool:
    return cycle() is None


def used(monkeypatch: pytest.MonkeyPatch, blocks: int) -> None:
    monkeypatch.setattr("sys.getallocatedblocks", lambda: blocks)


@pytest.mark.usefixtures("thawed")
def test_a_sweep_collects_old_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    used(monkeypatch, QUICK)
    gone = left_behind()
    gc.collect(1)
    assert gone() is not None
    Sweeper().sweep()
    assert gone() is None


@pytest.mark.usefixtures("thawed")
def test_collections_resume_when_the_last_of_several_has_ended() -> None:
    with gc_paused:
        with gc_paused:
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_sweep_collects_frozen_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    used(monkeypatch, QUICK)
    gone = left_behind()
    gc.freeze()
    Sweeper().sweep()
    assert gone() is None


@pytest.mark.usefixtures("thawed")
def test_with_many_objects_only_new_ones_are_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    used(monkeypatch, QUICK + 1)
    sweeper, old = Sweeper(), left_behind()
    sweeper.sweep()
    new = left_behind()
    sweeper.sweep()
    assert old() is not None
    assert new() is None


@pytest.mark.usefixtures("thawed")
async def test_it_sweeps_periodically(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.garbage_collector.SWEEP_SECONDS", 0)
    used(monkeypatch, QUICK)
    sweeping = asyncio.create_task(Sweeper().run())
    for _ in range(2):
        await until(partial(freed, left_behind()))
    sweeping.cancel()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can")
def test_free_memory_is_returned_to_the_system() -> None:
    pieces = [bytes(100_000) for _ in range(500)]
    kept = bytes(100_000)
    pieces.clear()
    assert give_back()
    assert not any(kept)


def test_another_c_library_keeps_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    assert not give_back()


def test_old_objects_are_not_scanned() -> None:
    before = gc.get_threshold()
    try:
        collect_young_only()
        assert gc.get_threshold() == (before[0], before[1], NEVER)
    finally:
        gc.set_threshold(*before)
