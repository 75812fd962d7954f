"""Keys of a terminal."""

import os
import pty
import signal
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from reassignd.commands.keys import keys


class Terminal:
    """Stdin of the process, and what a person types."""

    def __init__(self) -> None:
        self.typed, self.file = pty.openpty()
        self.stdin = os.fdopen(self.file, closefd=False)

    def type(self, text: bytes) -> None:
        os.write(self.typed, text)

    @property
    def echoes(self) -> bool:
        modes: int = termios.tcgetattr(self.file)[3]
        return bool(modes & termios.ECHO) and bool(modes & termios.ICANON)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdin", terminal.stdin)
    yield terminal
    terminal.stdin.close()
    os.close(terminal.typed)
    os.close(terminal.file)


def test_a_key_is_read_without_enter_and_without_an_echo(terminal: Terminal) -> None:
    with keys() as pressed:
        terminal.type(b"p")
        assert (pressed.usable, pressed.read(60), terminal.echoes) == (True, "p", False)
    assert terminal.echoes


def test_what_is_not_one_key_is_ignored(terminal: Terminal) -> None:
    with keys() as pressed:
        terminal.type(b"\x1b[A")
        assert pressed.read(60) == ""
        assert pressed.read(0) == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_restores_the_terminal(terminal: Terminal, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(SystemExit, match=str(128 + number)), keys():
        os.kill(os.getpid(), number)
    assert (terminal.echoes, signal.getsignal(number)) == (True, before)


def test_an_exception_restores_the_terminal(terminal: Terminal) -> None:
    with pytest.raises(ValueError, match="broken"), keys():
        raise ValueError("broken")
    assert terminal.echoes


def test_there_are_no_keys_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path(os.devnull).open(encoding="ascii") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        with keys() as pressed:
            assert (pressed.usable, pressed.read(0)) == (False, "")
