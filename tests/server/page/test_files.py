"""The files of the page."""

import re
from functools import cache
from importlib.resources import files
from itertools import chain
from posixpath import dirname, join, normpath

import httpx
import pytest
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from controller.model.audit import AuditAction
from controller.views.jobs import PartState
from server.api.resources.audit import AuditRow
from server.api.resources.limits import Limit
from server.api.resources.reviews import Review
from server.api.resources.status import ClusterHealth, Status, Totals
from server.api.shared.job_parts import Part
from server.api.shared.job_rows import Job
from server.api.shared.proposals import DiskFigures, Proposal, ProposalFigures, ProposalRequest
from server.audit.detail import AuditDetail
from server.page.files import MOVED, TYPES, WORKER, assets, document


@cache
def site() -> Starlette:
    """The page alone. Its many routes are compiled once for all tests."""

    async def page(request: Request) -> Response:
        return document(request)

    return Starlette(routes=[Route("/", page), *assets()])


async def get(path: str, **headers: str) -> httpx.Response:
    sent = {name.replace("_", "-"): each for name, each in headers.items()}
    transport = httpx.ASGITransport(site())
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return await client.get(path, headers=sent)


def read(path: str) -> str:
    return files("server.page").joinpath(path).read_text("utf-8")


@cache
def modules(first: str) -> dict[str, str]:
    """Return the module and all that it imports, by path."""
    found: dict[str, str] = {}
    paths = [first]
    while paths:
        path = paths.pop()
        if path not in found:
            found[path] = read(path)
            paths += [
                normpath(join(dirname(path), each)) for each in re.findall(r' from "([^"]+)"', found[path])
            ]
    return found


def scripts() -> str:
    """Return all modules of the page."""
    return "\n".join(modules("app.js").values())


async def test_the_page_loads_served_files_only() -> None:
    html = (await get("/")).text
    loaded = re.findall(r'(?:src|href)="([^"]+\.(?:js|css))"', html)
    assert {name for name in loaded if name.endswith(".js")} == set(modules("app.js"))
    assert not re.search(r"https?:|//[a-z]|<script(?![^>]*src)|\son\w+=|\sstyle=", html)
    for name in (*loaded, *modules("app.js")):
        assert (await get(f"/{name}")).status_code == 200


MOST_BYTES = 250_000
"""What a browser loads to show the page for the first time."""


async def test_all_files_together_are_small_on_the_way_to_a_browser() -> None:
    answers = [
        await get("/" if name == "index.html" else f"/{name}", accept_encoding="gzip") for name in TYPES
    ]
    assert {each.headers["content-encoding"] for each in answers} == {"gzip"}
    assert sum(int(each.headers["content-length"]) for each in answers) <= MOST_BYTES


async def test_a_file_that_has_not_changed_is_not_sent_again() -> None:
    first = await get("/app.js")
    again = await get("/app.js", if_none_match=first.headers["etag"])
    assert (again.status_code, again.content) == (304, b"")
    assert (await get("/app.js", if_none_match='"other"')).content == first.content


async def test_a_client_without_compression_gets_the_same_file() -> None:
    plain = await get("/app.js", accept_encoding="identity")
    assert "content-encoding" not in plain.headers
    assert plain.content == (await get("/app.js", accept_encoding="gzip")).content


async def test_every_file_belongs_to_the_page() -> None:
    loaded = re.findall(r'href="([^"]+\.css)"', (await get("/")).text)
    assert f'new SharedWorker("{WORKER}"' in scripts()
    assert set(TYPES) == {"index.html", *loaded, *modules("app.js"), *modules(WORKER)}


@pytest.mark.parametrize(("path", "address"), MOVED.items())
async def test_old_addresses_lead_to_the_pages(path: str, address: str) -> None:
    answer = await get(f"/{path}")
    assert (answer.status_code, answer.headers["location"]) == (307, address)
    routes = re.findall(r'path: "([^"]*)"', modules("app.js")["routes.js"])
    assert address.removeprefix("./#/") in routes


def test_the_wizards_use_fields_that_exist() -> None:
    used = modules("pages/propose.js")
    wizard = used["pages/propose.js"]
    goals = re.findall(r'^  \["(\w+)", ', used["goals.js"], re.MULTILINE)
    names = re.findall(r'name: "(\w+)"|(?:choices|check|text)\("(\w+)"', used["goals.js"])
    bodies = re.findall(r"\bbody\.(\w+)", used["goals.js"])
    of_the_page = {"job", "load", "keep", "empty"}  # They become other fields.
    named = (each.removeprefix("dir_") for each in (*goals, *filter(None, chain(*names)), *bodies))
    fields = {*named} - of_the_page
    assert len(fields) > 10
    assert fields <= set(ProposalRequest.__struct_fields__)
    figures = set(re.findall(r"\bfigures\.(\w+)", wizard + used["broker_figures.js"]))
    assert len(figures) > 3
    assert figures <= set(ProposalFigures.__struct_fields__)
    disks = set(re.findall(r"\bdisks\.(\w+)", wizard))
    assert {"moves", "bytes"} <= disks <= set(DiskFigures.__struct_fields__)
    assert set(re.findall(r"\bproposal\.(\w+)", wizard)) <= set(Proposal.__struct_fields__)


async def test_a_page_may_run_its_own_scripts_only() -> None:
    for path in ("/", "/app.js", "/pages/plan.js", "/tokens.css"):
        headers = (await get(path)).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_values_are_never_used_as_markup() -> None:
    script = scripts()
    assert "textContent" in script
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)


async def test_every_element_that_the_scripts_use_exists() -> None:
    named = set(re.findall(r'\belement\("([\w-]+)"', scripts()))
    assert len(named) > 5
    assert named <= set(re.findall(r'id="([\w-]+)"', (await get("/")).text))


@pytest.mark.parametrize(
    ("first", "variable", "model"),
    [
        ("app.js", "status", Status),
        ("app.js", "job", Job),
        ("app.js", "part", Part),
        ("app.js", "moves", Totals),
        ("app.js", "health", ClusterHealth),
        ("app.js", "limit", Limit),
        ("pages/plan.js", "review", Review),
        ("pages/history.js", "entry", AuditRow),
        ("pages/history.js", "detail", AuditDetail),
    ],
)
def test_the_scripts_read_fields_of_the_models_only(first: str, variable: str, model: type[Struct]) -> None:
    script = "\n".join(modules(first).values())
    used = set(re.findall(rf"(?<![\w.]){variable}\.(\w+)(?!\()\b", script)) - {"js"}
    assert used
    assert used <= set(model.__struct_encode_fields__)


def test_every_state_of_a_partition_can_be_selected() -> None:
    [states] = re.findall(r"const STATES = \[(.*)\];", modules("app.js")["job_parts.js"])
    assert {state.value for state in PartState} <= set(re.findall(r'"([^"]+)"', states))


def test_every_action_of_the_audit_log_can_be_selected_and_is_described() -> None:
    script = modules("app.js")["audit_words.js"]
    [actions] = re.findall(r"const ACTIONS = \[(.*)\];", script)
    assert set(re.findall(r'"(\w+)"', actions)) == set(AuditAction)
    [table] = re.findall(r"const WHAT = \{\n(.*?)\n\};", script, re.DOTALL)
    assert set(re.findall(r"^  (\w+): ", table, re.MULTILINE)) == set(AuditAction)


def test_only_the_tokens_have_values_of_colors() -> None:
    for name in TYPES:
        if name.endswith(".css") and name != "tokens.css":
            text = read(name)
            assert not re.search(r"#[0-9a-f]{3,8}\b(?=[^{]*[;}])", text), name
