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


def test_a_rare_color_of_a_picture_becomes_the_nearest_frequent_one() -> None:
    red, green, almost_red = (255, 0, 0), (0, 255, 0), (230, 0, 0)
    assert shown(64, red, green, almost_red) == [red, green, almost_red]
    assert shown(2, red, red, green, green, almost_red) == [red, red, green, green, red]
