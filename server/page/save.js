// Saves a value as a file, and links to files of the server.
"use strict";

import { download, hasToken } from "./api.js";
import { h } from "./dom.js";

export function saveBlob(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export const saveJson = (value, name) => saveBlob(new Blob([JSON.stringify(value)], { type: "application/json" }), name);

// A link to a file of the server. Browsers do not send the token of this tab for it, so with one the page saves the file.
export function fileLink(app, text, href, name, attributes = {}) {
  const save = app.guard(async () => saveBlob(await download(link.getAttribute("href")), name));
  const link = h("a", { class: "button", href, download: name, onclick: (event) => hasToken() && save(event), ...attributes }, text);
  return link;
}
