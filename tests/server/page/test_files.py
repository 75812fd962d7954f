"""The HTML documents of the page."""

import re
from importlib.resources import files

import httpx
import pytest
from msgspec import Struct
from starlette.applications import Starlette
from starlette.routing import Route

from controller.model.audit import AuditAction
from controller.views.jobs import PartState
from server.api.resources.audit import AuditRow
from server.api.resources.limits import Limit
from server.api.resources.reviews import Review
from server.api.resources.status import ClusterHealth, Status, Totals
from server.api.shared.job_parts import Part
from server.api.shared.job_rows import Job
from server.api.shared.proposals import Proposal, ProposalFigures, ProposalRequest
from server.audit.detail import AuditDetail
from server.page.files import OTHER_SCRIPTS, PAGES, SCRIPTS, TYPES, assets, complete, document

FIRST_MODULES = {
    "/": "page",
    "/history.html": "history",
    "/proposals.html": "proposals",
    "/submit.html": "submit",
}
"""Path of a page -> its first module."""

pages = pytest.mark.parametrize("path", FIRST_MODULES)


async def get(path: str) -> httpx.Response:
    async def page(_: object) -> object:
        return document()

    app = Starlette(routes=[Route("/", page), *assets()])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        return await client.get(path)


async def modules(first: str) -> dict[str, str]:
    """Return the module and all that it imports, by name."""
    found: dict[str, str] = {}
    names = [first]
    while names:
        name = names.pop()
        if name not in found:
            found[name] = (await get(f"/{name}.js")).text
            names += re.findall(r'from "\./([^"]+)\.js"', found[name])
    return found


async def scripts(path: str = "/") -> str:
    """Return all modules of a page."""
    return "\n".join((await modules(FIRST_MODULES[path])).values())


@pages
async def test_a_page_loads_served_files_only(path: str) -> None:
    html = (await get(path)).text
    loaded = re.findall(r'(?:src|href)="([^"]+\.(?:js|css))"', html)
    assert [name for name in loaded if name.endswith(".js")] == [f"{FIRST_MODULES[path]}.js"]
    assert "page.css" in loaded
    assert not re.search(r"https?:|//[a-z]|<script(?![^>]*src)|\son\w+=|\sstyle=", html)
    for name in (*loaded, *(f"{name}.js" for name in await modules(FIRST_MODULES[path]))):
        assert (await get(f"/{name}")).status_code == 200


async def test_every_module_belongs_to_a_page() -> None:
    used = {path: set(await modules(first)) for path, first in FIRST_MODULES.items()}
    assert used["/"] == set(SCRIPTS)
    assert set.union(*used.values()) == {*SCRIPTS, *OTHER_SCRIPTS}
    assert {name for name in TYPES if name.endswith(".html")} == {
        "index.html",
        *(path[1:] for path in FIRST_MODULES if path[1:]),
    }


@pages
async def test_every_page_links_to_the_others(path: str) -> None:
    [links] = re.findall(r'<nav aria-label="Pages">(.*)</nav>', (await get(path)).text)
    assert set(re.findall(r'href="([^"]+)"', links)) == {each[1:] or "." for each in FIRST_MODULES}
    assert re.findall(r'href="([^"]+)" aria-current="page"', links) == [path[1:] or "."]


async def test_the_wizards_use_fields_that_exist() -> None:
    html, used = (await get("/proposals.html")).text, await modules("proposals")
    fields = {
        "drain",
        "add",
        "balance",
        "racks",
        *re.findall(r'<(?:input|select)[^>]* name="(\w+)"', html),
    } - {"job", "broker", "throttle", "how"}
    assert fields <= set(ProposalRequest.__struct_fields__)
    figures = set(re.findall(r"\bfigures\.(\w+)", used["proposals"] + used["broker_figures"]))
    assert len(figures) > 3
    assert figures <= set(ProposalFigures.__struct_fields__)
    assert set(re.findall(r"\bproposal\.(\w+)", used["proposals"])) <= set(Proposal.__struct_fields__)


async def test_a_page_may_run_its_own_scripts_only() -> None:
    for path in (*FIRST_MODULES, "/page.js", "/dom.js", "/submit.js"):
        headers = (await get(path)).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


@pages
async def test_values_are_never_used_as_markup(path: str) -> None:
    script = await scripts(path)
    assert "textContent" in script
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)


@pages
async def test_every_element_that_the_scripts_use_exists(path: str) -> None:
    html, script = (await get(path)).text, await scripts(path)
    named = set(re.findall(r'\b(?:element|Table|reasonTable|brokerTable)\("([\w-]+)"', script))
    assert len(named) > 5
    assert named <= set(re.findall(r'id="([\w-]+)"', html))


@pages
async def test_every_table_has_a_caption_and_every_field_a_label(path: str) -> None:
    html = (await get(path)).text
    assert len(re.findall(r"<table [^>]*><caption>[^<]+</caption></table>", html)) == html.count("<table")
    with_id = re.findall(r'<(?:input|textarea) id="(\w+)"', html)
    assert set(with_id) == set(re.findall(r'<label for="(\w+)"', html))


@pytest.mark.parametrize(
    ("path", "variable", "model"),
    [
        ("/", "status", Status),
        ("/", "job", Job),
        ("/", "part", Part),
        ("/", "moves", Totals),
        ("/", "health", ClusterHealth),
        ("/", "limit", Limit),
        ("/submit.html", "review", Review),
        ("/history.html", "entry", AuditRow),
        ("/history.html", "detail", AuditDetail),
    ],
)
async def test_the_scripts_read_fields_of_the_models_only(
    path: str, variable: str, model: type[Struct]
) -> None:
    used = set(re.findall(rf"\b{variable}\.(\w+)(?!\()\b", await scripts(path))) - {"js"}
    assert used
    assert used <= set(model.__struct_encode_fields__)


async def test_every_state_of_a_partition_can_be_selected() -> None:
    html = (await get("/")).text
    assert {state.value for state in PartState} <= set(re.findall(r"<option>([^<]+)</option>", html))


async def test_every_action_of_the_audit_log_can_be_selected_and_is_described() -> None:
    html, script = (await get("/history.html")).text, (await modules("history"))["history"]
    assert set(re.findall(r'<option value="(\w+)">', html)) == set(AuditAction)
    [table] = re.findall(r"const WHAT = \{\n(.*?)\n\};", script, re.DOTALL)
    assert set(re.findall(r"^  (\w+): ", table, re.MULTILINE)) == set(AuditAction)


@pytest.mark.parametrize("name", PAGES)
def test_shared_parts_are_in_every_document_once(name: str) -> None:
    html = complete(name, files("server.page").joinpath(name).read_text("utf-8"))
    assert [html.count(part) for part in ('<form id="login"', "<nav ", "<title>", "page.css")] == [1] * 4
    assert f"<title>{PAGES[name][1]}</title>" in html
    assert "$" not in html


def test_a_name_without_a_part_is_an_error() -> None:
    with pytest.raises(KeyError):
        complete("index.html", "$unknown")
