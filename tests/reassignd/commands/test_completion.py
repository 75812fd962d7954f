"""Completion of arguments in shells."""

from typing import Any, Self

import click
import httpx
import pytest

from reassignd import client
from reassignd.client import Target
from reassignd.commands.completion import job_numbers, limit_names
from reassignd.config.errors import UnreachableError

PARAMETER = click.Argument(["number"])


class Server:
    """Stands in for the client: jobs 12, 11 and 2, or no server at all."""

    up = True

    def __init__(self, target: Target, _: httpx.Timeout) -> None:
        self.target = target

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get(self, path: str, limit: int) -> Any:
        if not self.up:
            raise UnreachableError("cannot reach it")
        assert (path, limit, self.target.url) == ("/v1/jobs", 50, "http://there")
        return {"jobs": [{"id": number, "state": "running", "total": 5} for number in (12, 11, 2)]}


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


def test_without_a_server_there_are_no_jobs(context: click.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "up", False)
    assert job_numbers(context, PARAMETER, "") == []


def test_limits_have_letters_and_the_names_of_kip_435(context: click.Context) -> None:
    assert [item.value for item in limit_names(context, PARAMETER, "p")] == [
        "P=",
        "pace=",
        "pace.ms=",
        "pace.factor=",
    ]
    names = [item.value for item in limit_names(context, PARAMETER, "reassignment.parallel.part")]
    assert names == ["reassignment.parallel.partition.count="]
