import json
import re
from pathlib import Path

import pytest

from controller.model.plan import read_plan
from reassignd.runtime.embedded_cluster import TOPICS
from tools import screenshots

DOCS = screenshots.FOLDER.parent


def test_the_plan_moves_all_partitions_of_a_demo_topic() -> None:
    entries = read_plan(json.loads(screenshots.plan()))
    demo = {topic.name: topic.partitions for topic in TOPICS}
    assert {entry.topic for entry in entries} == {screenshots.TOPIC}
    assert len(entries) == demo[screenshots.TOPIC] == 500


def test_the_documents_show_every_picture_and_no_other() -> None:
    texts = [document.read_text() for document in DOCS.glob("*.md")]
    shown = {name for text in texts for name in re.findall(r"\]\(images/([\w-]+\.png)\)", text)}
    assert shown == {file.name for file in screenshots.FOLDER.glob("*.png")}


def test_the_pictures_are_small() -> None:
    sizes = [file.stat().st_size for file in screenshots.FOLDER.glob("*.png")]
    assert sum(sizes) <= 300_000


def test_without_a_browser_the_command_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(screenshots, "chromium", lambda: None)
    monkeypatch.setattr("sys.argv", ["screenshots", "--output", str(tmp_path)])
    assert screenshots.main() == 1
    assert "apt-get install chromium" in capsys.readouterr().err
