import pytest

from server.dispatch.registry import ROUTES
from server.handlers import load
from tools.broker_api_versions import KAFKAS, recorded
from tools.served_apis import BEGIN, DIFFERENCES, END, rewritten

load()
PAGE = f"before\n{BEGIN}old\n{END}\nafter\n"


def test_every_served_api_has_a_row_with_its_versions_and_kafka_s() -> None:
    rows = [line for line in rewritten(PAGE).splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len(ROUTES)
    low, high = recorded()["4.3"][3]
    assert any(row.startswith("| Metadata (3) | 0-13 | ") and f" | {low}-{high} | " in row for row in rows)


def test_the_rest_of_the_page_is_kept() -> None:
    page = rewritten(PAGE)
    assert page.startswith("before\n")
    assert page.endswith(f"{END}\nafter\n")
    assert rewritten(page) == page


def test_a_page_without_markers_is_an_error() -> None:
    with pytest.raises(ValueError, match="the page must have the lines"):
        rewritten("text")


def test_the_effect_of_each_api_is_compared() -> None:
    assert DIFFERENCES.keys() == ROUTES.keys()
    assert recorded().keys() == set(KAFKAS)
