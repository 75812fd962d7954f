import json
from pathlib import Path

import pytest

from backends.datadir import StoreError
from backends.upstream.old_throttles import FILE, read_leases, remove
from controller.configs.names import LEADER_RATE, LEADER_REPLICAS
from controller.model.configs import Lease, ResourceType


def test_the_file_of_an_older_version_is_converted_to_leases(tmp_path: Path) -> None:
    tables = {
        "topics": {"foo": {LEADER_REPLICAS: ["0:1", "0:2"]}},
        "brokers": {"1": {LEADER_RATE: ["5", "7"]}},
    }
    (tmp_path / FILE).write_text(json.dumps(tables, indent=1))
    assert read_leases(tmp_path) == [
        Lease(ResourceType.TOPIC, "foo", LEADER_REPLICAS, "0:1,0:2", None),
        Lease(ResourceType.BROKER, "1", LEADER_RATE, "5,7", None),
    ]
    remove(tmp_path)
    assert read_leases(tmp_path) is None


def test_a_file_without_throttles_is_read_and_removed_too(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"topics": {}, "brokers": {}}')
    assert read_leases(tmp_path) == []


def test_a_file_that_cannot_be_removed_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"throttles\.json cannot be removed"):
        remove(tmp_path)


def test_the_temporary_file_of_a_crashed_process_is_not_read(tmp_path: Path) -> None:
    (tmp_path / FILE).with_suffix(".new").write_text("{")
    assert read_leases(tmp_path) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"topics": {}, "brokers": []}',
        '{"topics": {"foo": []}, "brokers": {}}',
        '{"topics": {}, "brokers": {"1": {"leader.replication.throttled.rate": "5"}}}',
        '{"topics": {}, "brokers": {"1": {"rate": ["5"]}}}',
        '{"topics": {}, "brokers": {"one": {"leader.replication.throttled.rate": ["5"]}}}',
    ],
)
def test_the_error_for_an_invalid_file_names_it_and_the_remedy(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(
        StoreError, match=r"throttles\.json cannot be read .*kafka-configs, then remove the file"
    ):
        read_leases(tmp_path)
