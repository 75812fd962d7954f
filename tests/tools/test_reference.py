from pathlib import Path

import pytest

from controller.cluster.config_keys import BROKER_KEYS
from reassignd.config.settings import KEYS
from server.dispatch.registry import ROUTES
from server.handlers import load
from server.metrics.exposition import METRICS
from server.metrics.metric import exposed_name
from tools import reference
from tools.broker_api_versions import KAFKAS, recorded
from tools.served_apis import DIFFERENCES, PARTS
from tools.written_parts import begin, end, rewritten


def test_the_pages_in_docs_are_up_to_date() -> None:
    assert reference.outdated(reference.pages()) == []


def test_every_key_and_every_metric_is_documented() -> None:
    text = "".join(reference.pages().values())
    missing = [n for n in (*KEYS, *BROKER_KEYS, *map(exposed_name, METRICS)) if f"`{n}`" not in text]
    assert missing == []


def test_the_default_of_a_limit_is_shown_as_unlimited() -> None:
    text = reference.pages()[reference.DOCS / "configuration.md"]
    assert "| `reassignment.max.concurrent.replica.movements` | unlimited | a whole number from 1 " in text


def test_check_names_outdated_pages_and_a_run_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reference, "DOCS", tmp_path)
    assert reference.main(["--check"]) == 1
    assert "cli.md is out of date" in capsys.readouterr().err
    assert reference.main([]) == 0
    assert reference.main(["--check"]) == 0


load()
PAGE = f"before\n{begin('served', reference.PROGRAM)}old\n{end('served')}\nafter\n"


def served(page: str) -> str:
    return rewritten(page, reference.PROGRAM, PARTS)


def test_every_served_api_has_a_row_with_its_versions_and_kafka_s() -> None:
    rows = [line for line in served(PAGE).splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len(ROUTES)
    low, high = recorded()["4.3"][3]
    assert any(row.startswith("| Metadata (3) | 0-13 | ") and f" | {low}-{high} | " in row for row in rows)


def test_the_rest_of_the_page_is_kept() -> None:
    page = served(PAGE)
    assert page.startswith("before\n")
    assert page.endswith(f"{end('served')}\nafter\n")
    assert served(page) == page


def test_a_page_without_markers_is_an_error() -> None:
    with pytest.raises(ValueError, match="the page must have the lines"):
        served("text")


def test_the_effect_of_each_api_is_compared() -> None:
    assert DIFFERENCES.keys() == ROUTES.keys()
    assert recorded().keys() == set(KAFKAS)
