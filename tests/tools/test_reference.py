from pathlib import Path

import pytest

from controller.cluster.config_keys import BROKER_KEYS
from reassignd.config.settings import KEYS
from server.metrics.exposition import METRICS
from server.metrics.metric import exposed_name
from tools import reference


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
