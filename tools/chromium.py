"""Headless Chromium for tests of the page and its screenshots, driven by Playwright.

The browser is that of the system: Playwright's own is not downloaded.
"""

import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tools.driven_page import PATIENCE_SECONDS, DrivenPage

if TYPE_CHECKING:
    from PIL.Image import Image
    from playwright.sync_api import CDPSession
    from playwright.sync_api import Page as Tab

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "no Chromium: tests of the page in a browser need it (Debian: apt-get install chromium)"
COLORS = 24
"""Of a picture. A page has about 20 colors, most of them on few pixels."""
AREAS = 6
"""Colors of a picture that are taken as they are: those of large areas, such as two whites."""
APART = 24
"""Difference of the other colors in red, green or blue."""
WIDEST = 800
"""Pixels of a picture; a wider one is made smaller."""

T = TypeVar("T")


def chromium() -> str | None:
    """Return the path of the browser; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def with_few_colors(picture: bytes, colors: int = COLORS) -> bytes:
    """Return the picture as WebP with its most frequent colors; other pixels get the nearest one of these."""
    from PIL import Image

    image = Image.open(BytesIO(picture)).convert("RGB")
    if image.width > WIDEST:
        image = image.resize((WIDEST, image.height * WIDEST // image.width), Image.Resampling.LANCZOS)
    palette = Image.new("P", (1, 1))
    palette.putpalette([channel for color in _frequent(image, colors) for channel in color])
    saved = BytesIO()
    few = image.quantize(palette=palette, dither=Image.Dither.NONE)
    few.convert("RGB").save(saved, "WEBP", lossless=True, quality=100, method=6)
    return saved.getvalue()


def _frequent(image: "Image", colors: int) -> list[tuple[int, ...]]:
    """Return the most frequent colors that differ: edges of letters have hundreds of shades."""
    chosen: list[tuple[int, ...]] = []
    for _, color in sorted(image.getcolors(image.width * image.height) or [], reverse=True):
        rgb = cast(tuple[int, ...], color)
        far = (max(abs(a - b) for a, b in zip(rgb, each, strict=True)) >= APART for each in chosen)
        if len(chosen) < AREAS or all(far):
            chosen.append(rgb)
        if len(chosen) == colors:
            break
    return chosen


class Browser:
    """A browser process with an empty profile, which its tabs share."""

    def __init__(self, program: str) -> None:
        # Playwright has an event loop, and a thread has one at most: tests start loops of their own.
        self._thread = ThreadPoolExecutor(1, "chromium")
        self.do(self._launch, program)

    def _launch(self, program: str) -> None:
        from playwright.sync_api import sync_playwright

        self._playwright = sync_playwright().start()
        arguments = ("--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
        self._process = self._playwright.chromium.launch(executable_path=program, args=arguments)
        self._new_profile()

    def _new_profile(self) -> None:
        self._tabs = self._process.new_context()
        self._tabs.set_default_timeout(PATIENCE_SECONDS * 1000)

    def do(self, work: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Return the result of the work, which is done by the thread of the browser."""
        return self._thread.submit(work, *arguments, **named).result()

    def open(self, url: str = "") -> "Page":
        """Open a tab, which is empty without a URL."""
        page = Page(self, self.do(self._tabs.new_page))
        if url:
            page.go(url)
        return page

    def close_tabs(self) -> None:
        """Close all tabs: a page that is open reads its server again and again, also after its end."""
        for tab in self._tabs.pages:
            self.do(tab.close)

    def forget(self) -> None:
        """Close all tabs and begin with an empty profile."""
        self.do(self._tabs.close)
        self.do(self._new_profile)

    def close(self) -> None:
        """End the process."""
        self.do(self._process.close)
        self.do(self._playwright.stop)
        self._thread.shutdown()


class Page(DrivenPage):
    """A tab."""

    def __init__(self, browser: Browser, tab: "Tab") -> None:
        self._tab, self._do = tab, browser.do

    @cached_property
    def _session(self) -> "CDPSession":
        return self._do(self._tab.context.new_cdp_session, self._tab)

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command of the Chrome DevTools Protocol; return its result."""
        return self._do(self._session.send, method, parameters)

    def before(self, script: str) -> None:
        """Run the script in each document that is loaded from now on, before its own ones."""
        self._do(self._tab.add_init_script, script)

    def go(self, url: str) -> None:
        """Load the page at the URL."""
        self._do(self._tab.goto, url)

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        return self._do(self._tab.evaluate, script)

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key."""
        self._do(self._tab.keyboard.press, f"Shift+{key}" if shift else key)

    def type(self, text: str) -> None:
        """Insert the text at the focus."""
        self._do(self._tab.keyboard.insert_text, text)

    def attach(self, selector: str, file: Path) -> None:
        """Choose the file in a field for files."""
        self._do(self._tab.set_input_files, selector, file)

    def outside(self) -> list[str]:
        """Return the visible elements that reach beyond the right edge of the window."""
        # Heads that are there for screen readers only are clipped. Regions of `scroll` scroll alone.
        found: list[str] = self.run(
            "[...document.querySelectorAll('body *:not(thead *, .scroll *)')]"
            ".filter((each) => each.checkVisibility() && each.getBoundingClientRect().right > innerWidth)"
            ".map((each) => each.outerHTML)"
        )
        return found

    def resize(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Set the size of the window, and its color scheme."""
        self._do(self._tab.set_viewport_size, {"width": width, "height": height})
        self._do(self._tab.emulate_media, color_scheme="dark" if dark else "light")

    def screenshot(self, path: Path, area: Mapping[str, float]) -> None:
        """Save a picture of an area (`x`, `y`, `width`, `height`) of the page, with few colors."""
        path.write_bytes(with_few_colors(self._do(self._tab.screenshot, full_page=True, clip=area)))

    def violations(self, *rules: str) -> list[dict[str, Any]]:
        """Return what axe-core finds in the page, by these rules or by all."""
        from axe_playwright_python.sync_playwright import Axe

        options: dict[str, Any] = {"resultTypes": ["violations"]}
        if rules:
            options["runOnly"] = {"type": "rule", "values": rules}
        found: list[dict[str, Any]] = self._do(Axe().run, self._tab, None, options).response["violations"]
        return found
