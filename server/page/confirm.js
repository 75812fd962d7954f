// Asks before an action. The dialog says in numbers what will happen, and can ask for one number.
"use strict";

import { element, setText } from "./dom.js";

// Returns null when the user goes back, else the number in the field (null for an empty field, undefined without a field).
// `field` is { label, value, least, most, empty }; `empty` permits an empty field.
export function ask(title, lines, action, field) {
  const dialog = element("confirm");
  const input = dialog.querySelector("input");
  setText(element("confirm-title"), title);
  dialog.querySelector("ul").replaceChildren(...lines.filter(Boolean).map((line) => {
    const item = document.createElement("li");
    setText(item, line);
    return item;
  }));
  setText(element("confirm-ok"), action);
  setText(element("confirm-error"), "");
  element("confirm-field").hidden = !field;
  setText(element("confirm-field").firstElementChild, field?.label ?? "");
  input.value = field?.value ?? "";
  dialog.returnValue = "";
  return new Promise((resolve) => {
    element("confirm-back").onclick = () => dialog.close("");
    dialog.onsubmit = (event) => {
      const problem = invalid(input.value, field);
      if (problem) event.preventDefault();
      setText(element("confirm-error"), problem);
    };
    dialog.onclose = () => {
      const text = input.value.trim();
      if (dialog.returnValue !== "ok") resolve(null);
      else resolve({ value: field && (text === "" ? null : Number(text)) });
    };
    dialog.showModal();
    (field ? input : element("confirm-ok")).focus();
  });
}

function invalid(text, field) {
  if (!field || (field.empty && text.trim() === "")) return "";
  const number = Number(text);
  const fits = /^\s*-?\d+\s*$/.test(text) && number >= field.least && number <= field.most;
  return fits ? "" : `Enter a whole number from ${field.least} to ${field.most}${field.empty ? ", or nothing for no limit" : ""}.`;
}
