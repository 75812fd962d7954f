"""The screen of `status --watch`, and the keys that act on what it shows."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from common.wording import counted, printable
from reassignd.commands.keys import keys
from reassignd.config.errors import CommandError

if TYPE_CHECKING:
    from reassignd.client import Client

Draw = Callable[[dict[str, Any], int, int], list[str]]
"""Returns the lines of the status that fit a width and a height."""

HELP = (
    "p   pause everything, or resume it",
    "+   let one more partition move at once (limit P)",
    "-   let one partition less move at once",
    "?   show or hide these keys",
    "q   quit",
)
HINT = "q quit, p pause, ? keys"
HINT_PAUSED = "q quit, p resume, ? keys"


class Question(NamedTuple):
    """What a key would do after a yes."""

    text: str
    act: Callable[[], str]


class Watch:
    """What is on the screen besides the status, and what keys do."""

    def __init__(self, client: "Client", read: Callable[[], dict[str, Any]], draw: Draw) -> None:
        self._client, self._read, self._draw = client, read, draw
        self._status: dict[str, Any] | None = None
        self._question: Question | None = None
        self._said, self._helps = "", False

    def screen(self, width: int, height: int, *, with_keys: bool) -> list[str]:
        """Read the status; return the lines of the screen. The last one is a question, or about the keys."""
        try:
            self._status = self._read()
            trouble = ""
        except CommandError as error:
            self._status, trouble = None, printable(str(error))
        foot = [*([*HELP, ""] if self._helps else []), self._foot()] if with_keys else []
        room = max(1, height - len(foot))
        lines = [trouble] if self._status is None else self._draw(self._status, width, room)
        return [*lines, *[""] * (room - len(lines)), *foot][:height]

    def press(self, key: str) -> bool:
        """Act on a key; return whether to go on."""
        if not key:
            return True
        question, self._question, self._said = self._question, None, ""
        if question is not None:
            self._said = self._done(question.act) if key in "yY" else "Nothing was changed."
        elif key in "qQ":
            return False
        elif key == "?":
            self._helps = not self._helps
        elif self._status is not None:
            self._order(key, self._status)
        return True

    def _order(self, key: str, status: dict[str, Any]) -> None:
        if key in "pP":
            verb = "resume" if status["paused"] else "pause"
            effect = "" if status["paused"] else " Steps in flight finish."
            self._question = Question(
                f"{verb.capitalize()} everything?{effect} [y/N]", lambda: self._set(verb)
            )
        elif key in "+-":
            limit = next(row["limit"] for row in status["limits"] if row["name"] == "P")
            if limit is None:
                self._said = "Limit P is not set: `reassignd limits P=20` sets it."
            elif (wanted := limit + (1 if key == "+" else -1)) < 1:
                self._said = "Limit P is at least 1: p pauses."
            else:
                self._said = self._done(lambda: self._let_move(wanted))

    def _done(self, act: Callable[[], str]) -> str:
        try:
            return act()
        except CommandError as error:
            return printable(str(error))

    def _set(self, verb: str) -> str:
        self._client.post(f"/v1/{verb}")
        return f"Everything is {verb}d."

    def _let_move(self, limit: int) -> str:
        self._client.ask("PUT", "/v1/limits", {"P": limit})
        return f"At most {counted(limit, 'partition')} at once."

    def _foot(self) -> str:
        if self._question is not None:
            return self._question.text
        paused = self._status is not None and self._status["paused"]
        return self._said or (HINT_PAUSED if paused else HINT)


def watch(client: "Client", interval: float, read: Callable[[], dict[str, Any]], draw: Draw) -> None:
    """Show the status on the whole terminal until `q` or Ctrl-C."""
    from rich.live import Live
    from rich.text import Text

    shown = Watch(client, read, draw)
    with keys() as pressed, Live(auto_refresh=False, screen=True) as live:
        while True:
            lines = shown.screen(*live.console.size, with_keys=pressed.usable)
            text = Text.from_ansi("\n".join(lines), no_wrap=True, overflow="ellipsis")
            live.update(text, refresh=True)
            if not shown.press(pressed.read(interval)):
                return
