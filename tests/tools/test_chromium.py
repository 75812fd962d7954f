from io import BytesIO

import pytest
from PIL import Image

from tools.chromium import NAMES, chromium, with_few_colors


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
    assert few.mode == "P"
    return [few.convert("RGB").getpixel((place, 0)) for place in range(len(pixels))]


def test_a_picture_keeps_its_colors_as_far_as_there_is_room() -> None:
    red, green, white, almost_white = (255, 0, 0), (0, 255, 0), (255, 255, 255), (252, 252, 252)
    assert shown(64, red, green, white, almost_white) == [red, green, white, almost_white]
    assert len(set(shown(2, red, green, white, almost_white))) == 2
