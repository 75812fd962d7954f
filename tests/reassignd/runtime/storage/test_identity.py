import base64
from pathlib import Path

import pytest

from reassignd.errors import CommandError
from reassignd.runtime.storage import identity
from reassignd.runtime.storage.identity import claim, cluster_id


def test_a_new_directory_gets_an_id_in_kafkas_format(tmp_path: Path) -> None:
    assert len(base64.urlsafe_b64decode(cluster_id(tmp_path) + "==")) == 16


def test_the_id_does_not_change(tmp_path: Path) -> None:
    assert cluster_id(tmp_path) == cluster_id(tmp_path)


def test_two_directories_have_different_ids(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert cluster_id(tmp_path) != cluster_id(tmp_path / "other")


def test_an_id_written_by_the_operator_is_used(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=mine\n")
    assert cluster_id(tmp_path) == "mine"


def test_a_damaged_file_is_reported_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("")
    with pytest.raises(CommandError, match=r"meta.properties has no cluster.id; restore it"):
        cluster_id(tmp_path)


def test_records_belong_to_one_cluster(tmp_path: Path) -> None:
    identity = cluster_id(tmp_path)
    claim(tmp_path, "upstream.cluster.id", "one")
    claim(tmp_path, "upstream.cluster.id", "one")
    with pytest.raises(
        CommandError, match=r"those of upstream.cluster.id=one, not of two; start with that, or"
    ):
        claim(tmp_path, "upstream.cluster.id", "two")
    assert cluster_id(tmp_path) == identity


def test_an_identity_that_cannot_be_written_or_read_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(identity, "replace_file", full)
    with pytest.raises(CommandError, match=r"meta\.properties cannot be written .*No space left on device"):
        cluster_id(tmp_path)
    (tmp_path / "meta.properties").write_bytes(b"\xff\xfe")
    with pytest.raises(CommandError, match=r"meta\.properties cannot be read"):
        cluster_id(tmp_path)
