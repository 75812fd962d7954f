// Keys of the whole page. They do nothing while a dialog is open or something is typed.
"use strict";

import { element, h } from "./dom.js";

const TYPED = "input, select, textarea, [contenteditable]";
const WAIT_MS = 1500; // between `g` and the letter of a page

// `pages` are [letter, label, address].
function newDialog(pages) {
  const keys = [["/", "Search"], ["?", "List the keys"], ...pages.map(([letter, label]) => [`g ${letter}`, label]), ["Esc", "Close a dialog or the search"]];
  const rows = keys.map(([key, what]) => h("div", {}, h("dt", {}, ...key.split(" ").map((each) => h("kbd", {}, each))), h("dd", {}, what)));
  const close = h("button", { value: "close", class: "primary" }, "Close");
  const dialog = h("dialog", { id: "keys", "aria-labelledby": "keys-title" },
    h("form", { method: "dialog" }, h("h2", { id: "keys-title" }, "Keys"), h("dl", {}, ...rows), h("p", {}, close)));
  document.body.append(dialog);
  return dialog;
}

export function startKeys(routes, go) {
  const pages = routes.filter(({ key }) => key).map(({ key, label, path }) => [key, label, `#/${path}`]);
  const dialog = newDialog(pages);
  element("help").addEventListener("click", () => dialog.showModal());
  let since = -Infinity; // when `g` was pressed
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(TYPED) || document.querySelector("dialog[open]")) return;
    const page = event.timeStamp - since < WAIT_MS && pages.find(([letter]) => letter === event.key);
    since = event.key === "g" ? event.timeStamp : -Infinity;
    if (page) go(page[2]);
    else if (event.key === "?") dialog.showModal();
    else if (event.key === "/") element("search").focus();
    else return;
    event.preventDefault();
  });
}
