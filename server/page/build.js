// Small parts of pages: badges, bars, facts, buttons.
"use strict";

import { h, keyed } from "./dom.js";
import { visible } from "./format.js";

// A state in a word, with a shape before it, so that it does not depend on colors. Kinds: good, info, warn, bad, and none.
export const badge = (kind, text) => h("span", { class: `badge ${kind}`.trim() }, text);

// A share of a whole as a bar, with the words beside it.
export function meter(value, total, text, label = text) {
  const share = total ? Math.min(100, (100 * value) / total) : 0;
  const bar = h("progress", { max: 100, value: share, "aria-label": visible(label), class: share >= 90 ? "full" : "" });
  return h("span", { class: "meter" }, total ? bar : null, h("span", {}, text));
}

// Names with values, as a list of terms. Rows are [name, value]; those without a value are left out.
export const facts = (rows) => h("dl", { class: "facts" }, rows.filter(([, value]) => value !== null && value !== undefined && value !== "")
  .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));

// Where a page is: links to the pages above it, as [text, address], and its own name.
export const crumbs = (above, name) =>
  h("nav", { class: "crumbs", "aria-label": "Where this page is" }, above.flatMap(([text, href]) => [h("a", { href }, text), " / "]), name);

export const button = (text, onclick, kind = "", more = {}) => h("button", { type: "button", class: kind, onclick, ...more }, text);

// The names of what is chosen as chips, each with a button that calls `remove(name)`. `show` takes all names.
// The focus goes to the chip beside the one that is removed; without one, to what `instead()` returns.
export function nameChips(label, remove, instead) {
  const node = h("ul", { class: "picked", "aria-label": label });
  const removed = (item, name) => {
    const beside = item.nextElementSibling ?? item.previousElementSibling;
    remove(name);
    (beside?.querySelector("button") ?? instead()).focus();
  };
  const chip = (name) => {
    const item = h("li", { class: "chip" }, name, " ", button("×", () => removed(item, name), "", { "aria-label": `Remove ${name}` }));
    return item;
  };
  return { node, show: (names) => keyed(node, names, chip) };
}
