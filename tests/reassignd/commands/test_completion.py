"""Completion of arguments in shells."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import click
import httpx
import pytest
from click.shell_completion import CompletionItem

from planner.proposing import DISKS, WITH_VALUE, WITHOUT_VALUE
from reassignd import client
from reassignd.client import Target
from reassignd.commands.completion import (
    GOALS,
    MOST,
    broker_numbers,
    context_names,
    goal_words,
    job_numbers,
    limit_names,
    topic_names,
)
from reassignd.config.contexts import Context, Contexts, write_contexts
from reassignd.config.errors import UnreachableError

PARAMETER = click.Argument(["number"])


class Server:
    """Stands in for the client: jobs 12, 11 and 2, brokers 1 to 12, a topic, or no server at all."""

    up = True

    def __init__(self, target: Target, _: httpx.Timeout) -> None:
        self.target = target

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get(self, path: str, limit: int, q: str | None = None) -> Any:
        if not self.up:
            raise UnreachableError("cannot reach it")
        assert (self.target.url, limit <= MOST) == ("http://there", True)
        match path:
            case "/v1/jobs":
                return {"jobs": [{"id": number, "state": "running", "total": 5} for number in (12, 11, 2)]}
            case "/v1/topics":
                assert q == "or"
                names = ("order", "orders", "vendor")
                return {"topics": [{"topic": name, "partitions": 3} for name in names]}
        return {"brokers": [{"id": number, "rack": "a", "state": "live"} for number in range(1, 13)]}


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> click.Context:
    monkeypatch.setattr(client, "Client", Server)
    ctx = click.Context(click.Command("job"))
    ctx.params = {"url": "http://there"}
    return ctx


def test_jobs_are_those_of_the_server(context: click.Context) -> None:
    found = job_numbers(context, PARAMETER, "1")
    assert [(item.value, item.help) for item in found] == [
        ("12", "running, 5 partitions"),
        ("11", "running, 5 partitions"),
    ]


@pytest.mark.parametrize("complete", [job_numbers, broker_numbers, topic_names])
def test_without_a_server_nothing_is_completed(
    complete: Callable[[click.Context, click.Parameter, str], list[CompletionItem]],
    context: click.Context,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Server, "up", False)
    assert complete(context, PARAMETER, "") == []


def test_brokers_are_completed_one_after_another(context: click.Context) -> None:
    assert [item.value for item in broker_numbers(context, PARAMETER, "1")] == ["1", "10", "11", "12"]
    found = broker_numbers(context, PARAMETER, "3,11,1")
    assert [(item.value, item.help) for item in found][:2] == [
        ("3,11,1", "rack a, live"),
        ("3,11,10", "rack a, live"),
    ]


def test_topics_begin_with_what_is_typed(context: click.Context) -> None:
    found = topic_names(context, PARAMETER, "or")
    assert [item.value for item in found] == ["order", "orders"]
    assert found[0].help == "3 partitions"


@pytest.mark.parametrize(
    ("given", "typed", "values"),
    [
        ((), "r", ["relieve", "rf", "racks", "repair"]),
        (
            ("balance",),
            "",
            ["drain", "demote", "relieve", "add", "rf", "racks", "repair", "leaders", "disks"],
        ),
        (("drain",), "12", ["12"]),
        (("rf",), "", ["1", "2", "3"]),
    ],
)
def test_goals_and_then_their_values_are_completed(
    given: tuple[str, ...], typed: str, values: list[str], context: click.Context
) -> None:
    context.params["goals"] = given
    assert [item.value for item in goal_words(context, PARAMETER, typed)] == values


def test_every_goal_is_completed() -> None:
    assert set(GOALS) == {*WITH_VALUE, *WITHOUT_VALUE, DISKS}


def test_contexts_are_completed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, context: click.Context
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert context_names(context, PARAMETER, "") == []
    write_contexts(Contexts({"prod": Context("http://p"), "test": Context("http://t")}))
    found = context_names(context, PARAMETER, "p")
    assert [(item.value, item.help) for item in found] == [("prod", "http://p")]


def test_limits_have_letters_and_the_names_of_kip_435(context: click.Context) -> None:
    assert [item.value for item in limit_names(context, PARAMETER, "p")] == [
        "P=",
        "pace=",
        "pace.ms=",
        "pace.factor=",
    ]
    names = [item.value for item in limit_names(context, PARAMETER, "reassignment.parallel.part")]
    assert names == ["reassignment.parallel.partition.count="]
