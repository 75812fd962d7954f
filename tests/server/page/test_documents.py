"""The HTML documents of the page."""

from importlib.resources import files

import pytest

from server.page.documents import PAGES, complete


@pytest.mark.parametrize("name", PAGES)
def test_shared_parts_are_in_every_document_once(name: str) -> None:
    html = complete(name, files("server.page").joinpath(name).read_text("utf-8"))
    assert [html.count(part) for part in ('<form id="login"', "<nav ", "<title>", "page.css")] == [1] * 4
    assert f"<title>{PAGES[name][1]}</title>" in html
    assert "$" not in html


def test_a_name_without_a_part_is_an_error() -> None:
    with pytest.raises(KeyError):
        complete("index.html", "$unknown")
