import pytest

from tools.chromium import NAMES, chromium


def test_the_first_browser_that_is_installed_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tools.chromium.shutil.which", lambda name: None if name == NAMES[0] else f"/bin/{name}"
    )
    assert chromium() == f"/bin/{NAMES[1]}"


def test_without_a_browser_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.chromium.shutil.which", lambda _: None)
    assert chromium() is None
