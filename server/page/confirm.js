// Asks before an action. The dialog says in numbers what will happen, and can ask for one value.
"use strict";

import { setText } from "./dom.js";

const node = (tag, values = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), values);
  made.append(...children);
  return made;
};

const title = node("h2", { id: "confirm-title" });
const list = node("ul");
const caption = node("span");
const input = node("input", { autocomplete: "off" });
const label = node("label", { id: "confirm-field" }, caption, " ", input);
const error = node("p", { id: "confirm-error", role: "alert" });
const back = node("button", { id: "confirm-back", type: "button", textContent: "Back" });
const ok = node("button", { id: "confirm-ok", value: "ok" });
const form = node("form", { method: "dialog" }, title, list, label, error, node("p", {}, back, " ", ok));
const dialog = node("dialog", { id: "confirm" }, form);
dialog.setAttribute("aria-labelledby", title.id);
document.body.append(dialog);

// Returns null when the user goes back, else { value }: what is in the field, or undefined without a field.
// `field` is { label, value, read, preview }: `read(text)` returns the value, or throws an Error that says what is expected;
// `preview(value)` returns lines about the effect of a value, which follow `lines`.
// A `danger` is red, and the focus is not on its button.
export function ask(question, lines, action, field = null, danger = false) {
  setText(title, question);
  ok.className = danger ? "danger" : "primary";
  show(lines);
  setText(ok, action);
  setText(error, "");
  label.hidden = !field;
  setText(caption, field?.label ?? "");
  input.value = field?.value ?? "";
  input.oninput = field?.preview && previewing(lines, field);
  dialog.returnValue = "";
  return new Promise((resolve) => {
    let value;
    back.onclick = () => dialog.close("");
    form.onsubmit = (event) => {
      try {
        value = field?.read(input.value.trim());
      } catch (problem) {
        event.preventDefault();
        setText(error, problem.message);
      }
    };
    dialog.onclose = () => resolve(dialog.returnValue === "ok" ? { value } : null);
    dialog.showModal();
    (field ? input : danger ? back : ok).focus();
    input.select(); // What is typed replaces the present value.
  });
}

function show(lines) {
  list.replaceChildren(...lines.filter(Boolean).map((line) => {
    const item = node("li");
    setText(item, line);
    return item;
  }));
}

const PAUSE_MS = 200; // between the last key and the preview

// Shows the effect of what is in the field, once it is a value.
function previewing(lines, { read, preview }) {
  let timer;
  return () => {
    clearTimeout(timer);
    setText(error, "");
    timer = setTimeout(async () => {
      const text = input.value.trim();
      try {
        const more = await preview(read(text));
        if (dialog.open && text === input.value.trim()) show([...lines, ...more]);
      } catch (problem) {
        setText(error, problem.message);
      }
    }, PAUSE_MS);
  };
}

// Reads a whole number from `least` to `most`; `empty` permits nothing, which is null.
export const wholeNumber = (least, most, empty) => (text) => {
  if (empty && text === "") return null;
  if (/^-?\d+$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
  throw new Error(`Enter a whole number from ${least} to ${most}${empty ? ", or nothing for no limit" : ""}.`);
};
