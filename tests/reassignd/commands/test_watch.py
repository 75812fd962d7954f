"""The screen of `status --watch`, and its keys."""

from typing import Any, cast

from reassignd.client import Client
from reassignd.commands.watch import HINT, Watch
from reassignd.config.errors import CommandError, UnreachableError


def drawn(_: object, width: int, height: int) -> list[str]:
    return ["status", f"{width}x{height}"]


class Server:
    """Records what is ordered; `limit` is the limit P."""

    def __init__(self, limit: int | None = 3) -> None:
        self.limit, self.paused, self.trouble = limit, False, ""
        self.ordered: list[object] = []
        self.watch = Watch(cast(Client, self), self.status, drawn)

    def status(self) -> dict[str, Any]:
        if self.trouble:
            raise UnreachableError(self.trouble)
        return {"paused": self.paused, "limits": [{"name": "P", "limit": self.limit}]}

    def post(self, path: str) -> None:
        self.ordered.append(path)
        self.paused = path == "/v1/pause"

    def ask(self, *order: object) -> None:
        self.ordered.append(order)
        raise CommandError("a viewer may not\nchange limits")

    def screen(self, **options: bool) -> list[str]:
        return self.watch.screen(80, 12, with_keys=options.get("with_keys", True))

    def foot(self, keys: str) -> str:
        """Press keys, each on a new screen; return the last line of the next one."""
        for key in keys:
            self.screen()
            assert self.watch.press(key)
        return self.screen()[-1]


def test_the_last_line_names_the_keys_where_there_are_some() -> None:
    server = Server()
    assert server.screen() == ["status", "80x11", *[""] * 9, HINT]
    assert server.screen(with_keys=False)[:2] == ["status", "80x12"]
    assert HINT not in server.screen(with_keys=False)


def test_everything_is_paused_and_resumed_after_a_yes() -> None:
    server = Server()
    assert server.foot("p") == "Pause everything? Steps in flight finish. [y/N]"
    assert server.foot("n") == "Nothing was changed."
    assert server.foot("py") == "Everything is paused."
    assert server.foot("p") == "Resume everything? [y/N]"
    assert server.foot("y") == "Everything is resumed."
    assert server.ordered == ["/v1/pause", "/v1/resume"]


def test_the_limit_of_partitions_is_changed_by_one() -> None:
    server = Server()
    assert server.foot("+") == "a viewer may not\\nchange limits"
    server.foot("-")
    assert server.ordered == [("PUT", "/v1/limits", {"P": 4}), ("PUT", "/v1/limits", {"P": 2})]


def test_a_limit_that_cannot_be_changed_says_why() -> None:
    assert Server(None).foot("+") == "Limit P is not set: `reassignd limits P=20` sets it."
    assert Server(1).foot("-") == "Limit P is at least 1: p pauses."


def test_the_keys_are_shown_and_hidden() -> None:
    server = Server()
    assert server.foot("?") == HINT
    assert "q   quit" in server.screen()
    server.foot("?")
    assert "q   quit" not in server.screen()


def test_q_quits_and_no_key_does_nothing() -> None:
    server = Server()
    assert server.watch.press("")
    assert server.foot("px") == "Nothing was changed."
    assert not server.watch.press("q")


def test_a_server_that_does_not_answer_is_named_and_gets_no_orders() -> None:
    server = Server()
    server.trouble = "cannot reach it"
    assert server.screen()[0] == "cannot reach it"
    assert server.foot("p+") == HINT
    assert server.ordered == []
