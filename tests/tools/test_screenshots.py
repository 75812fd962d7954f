import json
import re
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from controller.model.plan import read_plan
from reassignd.runtime.embedded_cluster import TOPICS
from tools import screenshots
from tools.chromium import NAMES, chromium, with_few_colors

DOCS = screenshots.FOLDER.parent


def test_the_plan_moves_all_partitions_of_a_demo_topic() -> None:
    entries = read_plan(json.loads(screenshots.plan()))
    demo = {topic.name: topic.partitions for topic in TOPICS}
    assert {entry.topic for entry in entries} == {screenshots.TOPIC}
    assert len(entries) == demo[screenshots.TOPIC] == 500


def test_the_documents_show_every_picture_and_no_other() -> None:
    texts = [document.read_text() for document in DOCS.glob("*.md")]
    shown = {name for text in texts for name in re.findall(r"\]\(images/([\w-]+\.webp)\)", text)}
    assert shown == {file.name for file in screenshots.FOLDER.glob("*.webp")}


def test_the_pictures_are_small() -> None:
    sizes = [file.stat().st_size for file in screenshots.FOLDER.glob("*.webp")]
    assert sum(sizes) <= 300_000


def test_without_a_browser_the_command_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(screenshots, "chromium", lambda: None)
    monkeypatch.setattr("sys.argv", ["screenshots", "--output", str(tmp_path)])
    assert screenshots.main() == 1
    assert "apt-get install chromium" in capsys.readouterr().err


def test_the_first_browser_that_is_installed_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tools.chromium.shutil.which", lambda name: None if name == NAMES[0] else f"/bin/{name}"
    )
    assert chromium() == f"/bin/{NAMES[1]}"


def test_without_a_browser_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.chromium.shutil.which", lambda _: None)
    assert chromium() is None


def shown(colors: int, *pixels: tuple[int, int, int]) -> list[object]:
    """Return the pixels of a picture after it has got few colors."""
    picture, saved = Image.new("RGB", (len(pixels), 1)), BytesIO()
    for place, pixel in enumerate(pixels):
        picture.putpixel((place, 0), pixel)
    picture.save(saved, "PNG")
    few = Image.open(BytesIO(with_few_colors(saved.getvalue(), colors)))
    return [few.convert("RGB").getpixel((place, 0)) for place in range(len(pixels))]


def test_a_rare_color_of_a_picture_becomes_the_nearest_frequent_one() -> None:
    red, green, almost_red = (255, 0, 0), (0, 255, 0), (230, 0, 0)
    assert shown(64, red, green, almost_red) == [red, green, almost_red]
    assert shown(2, red, red, green, green, almost_red) == [red, red, green, green, red]
