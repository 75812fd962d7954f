from pathlib import Path

import pytest

from backends.datadir import StoreError
from backends.upstream.applied_throttles import FILE, AppliedThrottles


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    ledger = AppliedThrottles(tmp_path)
    assert ledger.empty
    ledger.topics["foo"] = {"leader.replication.throttled.replicas": ["0:1"]}
    ledger.brokers["1"] = {"leader.replication.throttled.rate": ["5", "7"]}
    ledger.write(ledger.text())
    again = AppliedThrottles(tmp_path)
    assert (again.topics, again.brokers) == (ledger.topics, ledger.brokers)
    assert not again.empty


def test_without_a_directory_nothing_is_written() -> None:
    ledger = AppliedThrottles(None)
    ledger.write(ledger.text())
    assert ledger.empty


def test_a_draft_that_a_crash_left_is_not_read(tmp_path: Path) -> None:
    (tmp_path / FILE).with_suffix(".new").write_text("{")
    assert AppliedThrottles(tmp_path).empty


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"topics": {}, "brokers": []}',
        '{"topics": {"foo": []}, "brokers": {}}',
        '{"topics": {}, "brokers": {"1": {"rate": "5"}}}',
        '{"topics": {}, "brokers": {"one": {"rate": ["5"]}}}',
    ],
)
def test_a_file_that_makes_no_sense_is_named_with_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(
        StoreError, match=r"throttles\.json cannot be read .*kafka-configs, then remove the file"
    ):
        AppliedThrottles(tmp_path)
