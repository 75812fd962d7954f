import re

import httpx
from starlette.applications import Starlette
from starlette.routing import Route

from controller.views.jobs import PartState
from server.api.models.jobs import Job, Part
from server.api.models.limits import Limit
from server.api.models.proposals import Proposal, ProposalFigures, ProposalRequest
from server.api.models.status import ClusterHealth, Status, Totals
from server.page.files import SCRIPTS, assets, document


async def get(path: str) -> httpx.Response:
    async def page(_: object) -> object:
        return document()

    app = Starlette(routes=[Route("/", page), *assets()])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        return await client.get(path)


async def scripts() -> str:
    """Return all modules of the page."""
    return "\n".join([(await get(f"/{name}.js")).text for name in SCRIPTS])


async def test_the_page_loads_what_is_served_and_nothing_else() -> None:
    html = (await get("/")).text
    loaded = re.findall(r'(?:src|href)="([^"]+\.(?:js|css))"', html)
    assert sorted(loaded) == ["page.css", "page.js"]
    imported = set(re.findall(r'from "\./([^"]+)"', await scripts()))
    assert imported | {"page.js"} == {f"{name}.js" for name in SCRIPTS}
    assert not re.search(r"https?:|//[a-z]", html)
    for name in (*loaded, *imported):
        assert (await get(f"/{name}")).status_code == 200


async def test_the_wizards_load_what_is_served_and_nothing_else() -> None:
    html, script = (await get("/proposals.html")).text, (await get("/proposals.js")).text
    loaded = re.findall(r'(?:src|href)="([^"]+\.(?:js|css))"', html) + re.findall(
        r'from "\./([^"]+)"', script
    )
    own = {"proposal_figures.js", "proposals.css", "proposals.js"}
    assert set(loaded) == own | {"page.css", "api.js", "dom.js", "format.js"}
    assert not re.search(r"https?:|//[a-z]|<script(?![^>]*src)|\son\w+=|\sstyle=", html)
    for name in loaded:
        assert (await get(f"/{name}")).status_code == 200
    assert 'href="proposals.html"' in (await get("/")).text


async def test_the_wizards_use_elements_and_fields_that_exist() -> None:
    html, script = (await get("/proposals.html")).text, (await get("/proposals.js")).text
    assert set(re.findall(r'element\("([\w-]+)"\)', script)) <= set(re.findall(r'id="([\w-]+)"', html))
    fields = {
        "drain",
        "add",
        "balance",
        "racks",
        *re.findall(r'<(?:input|select)[^>]* name="(\w+)"', html),
    } - {"job", "broker", "throttle", "how"}
    assert fields <= set(ProposalRequest.__struct_fields__)
    figures = (await get("/proposal_figures.js")).text
    used = set(re.findall(r"\bfigures\.(\w+)", script + figures))
    assert len(used) > 3
    assert used <= set(ProposalFigures.__struct_fields__)
    assert set(re.findall(r"\bproposal\.(\w+)", script)) <= set(Proposal.__struct_fields__)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script + figures)


async def test_the_page_may_run_its_own_scripts_only() -> None:
    for path in ("/", "/page.js", "/dom.js", "/proposals.html", "/proposals.js"):
        headers = (await get(path)).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script(?![^>]*src)|\son\w+=|\sstyle=", (await get("/")).text)


async def test_values_are_never_used_as_markup() -> None:
    script = await scripts()
    assert "textContent" in script
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)


async def test_every_element_that_the_scripts_use_exists() -> None:
    html, script = (await get("/")).text, await scripts()
    named = set(re.findall(r'\b(?:element|Table|reasonTable)\("([\w-]+)"', script))
    assert len(named) > 20
    assert named <= set(re.findall(r'id="([\w-]+)"', html))


async def test_every_table_has_a_caption_and_every_field_a_label() -> None:
    html = (await get("/")).text
    assert len(re.findall(r"<table [^>]*><caption>[^<]+</caption></table>", html)) == html.count("<table")
    assert set(re.findall(r'<input id="(\w+)"', html)) == set(re.findall(r'<label for="(\w+)"', html))


async def test_the_scripts_read_fields_of_the_models_only() -> None:
    script = await scripts()
    shown = (
        ("status", Status),
        ("job", Job),
        ("part", Part),
        ("moves", Totals),
        ("health", ClusterHealth),
        ("limit", Limit),
    )
    for variable, model in shown:
        used = set(re.findall(rf"\b{variable}\.(\w+)(?!\()\b", script))
        assert used, variable
        assert used <= set(model.__struct_encode_fields__), model


async def test_every_state_of_a_partition_can_be_selected() -> None:
    html = (await get("/")).text
    assert {state.value for state in PartState} <= set(re.findall(r"<option>([^<]+)</option>", html))
