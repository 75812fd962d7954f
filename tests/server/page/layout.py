"""The layout of the page as text: where each of its parts is, and its colors, without what depends on fonts.

A picture differs on another machine by its fonts, and heights and the widths of words with them. What is
compared are the left edge and the width of parts that fill their column, which the styles alone decide,
whether a list is a table or cards, and the color of cards.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tools.chromium import Page

FILE = Path(__file__).with_name("layouts.json")
TOLERANCE = 4
"""Pixels of an edge that may differ: a scroll bar, or the rounding of a share."""

PARTS = """
(() => {
  const shown = (node) => node.checkVisibility() && node.getBoundingClientRect().width > 1;
  const named = (node) =>
    node.id || node.getAttribute("aria-label") || node.className || node.tagName.toLowerCase();
  const parts = "body > header, #pages, main > *, #content > *, #content .card, #content table";
  const rows = [];
  for (const node of document.querySelectorAll(parts)) {
    if (!shown(node)) continue;
    const { left, width } = node.getBoundingClientRect();
    const style = getComputedStyle(node);
    const fits = style.display.startsWith("inline") || node.matches(".actions, .page-head > *");
    const table = node.tagName === "TABLE" ? `, ${style.display === "table" ? "table" : "cards"}` : "";
    const color = node.matches(".card") ? `, ${style.backgroundColor}` : "";
    rows.push([named(node) + table + color, Math.round(left), fits ? null : Math.round(width)]);
  }
  return rows;
})()
"""

Part = tuple[str, int, int | None]
Layouts = dict[str, list[Part]]


def layout(page: Page) -> list[Part]:
    """Return name, left edge and width of the parts, from top to bottom, as soon as they stay."""
    before: list[Part] = []
    while True:
        page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        now = [(str(name), int(left), width) for name, left, width in page.run(PARTS)]
        if now == before:
            return now
        before = now


def kept() -> Layouts:
    """Return the layouts of the file."""
    if not FILE.exists():
        return {}
    return msgspec.json.decode(FILE.read_bytes(), type=Layouts)


def keep(layouts: Mapping[str, list[Part]]) -> None:
    """Write the layouts of the file, a part a line."""
    text = json.dumps({**kept(), **layouts}, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    FILE.write_text(text.replace("],[", "],\n[").replace("]],", "]],\n") + "\n", "utf-8")


def difference(wanted: list[Part], found: list[Part]) -> str:
    """Return the first part that differs by more than the tolerance; empty if none does."""
    for one, other in zip(wanted, found, strict=False):
        near = all(
            (first is None) == (second is None) and abs((first or 0) - (second or 0)) <= TOLERANCE
            for first, second in zip(one[1:], other[1:], strict=True)
        )
        if one[0] != other[0] or not near:
            return f"expected {one}, found {other}"
    longer = max(wanted, found, key=len)[min(len(wanted), len(found)) :]
    return f"{'missing' if len(wanted) > len(found) else 'more'}: {longer[0]}" if longer else ""
