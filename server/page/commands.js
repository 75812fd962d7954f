// Actions of the console as commands, to be copied.
"use strict";

import { h, keyed, setText } from "./dom.js";

// The commands that do what the buttons of a job do: { label, command }.
export function commandsOf(job) {
  const number = job.id;
  const open = !job.ended_ms;
  return [
    { label: "Follow", command: `reassignd job ${number}` },
    open && (job.state === "paused" ? { label: "Resume", command: `reassignd resume ${number}` } : { label: "Pause", command: `reassignd pause ${number}` }),
    open && { label: "Throttle", command: `reassignd throttle ${number} 50MB` },
    open && { label: "Limits", command: `reassignd limits --job ${number} P=20` },
    open && { label: "Priority", command: `reassignd priority ${number} 10` },
    open && { label: "Cancel", command: `reassignd cancel --job ${number}` },
    !job.rolled_back_by && { label: "Roll back", command: `reassignd rollback ${number}` },
  ].filter(Boolean);
}

const COPIED_MS = 1500;

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    setText(button, "Copied");
  } catch {
    // Without https the clipboard is closed to pages; the text can be selected.
    getSelection().selectAllChildren(button.previousElementSibling);
    setText(button, "Selected");
  }
  setTimeout(() => setText(button, "Copy"), COPIED_MS);
}

// A list of commands with a button each. `show(commands)` changes it in place.
export function commandList() {
  const list = h("dl", { class: "commands" });
  return {
    node: list,
    show(commands) {
      const rows = keyed(list, commands.map((each) => each.command), () => {
        const button = h("button", { type: "button" }, "Copy");
        return h("div", {}, h("dt"), h("dd", {}, h("code"), button));
      });
      rows.forEach((row, place) => {
        const { label, command } = commands[place];
        const [code, button] = row.lastChild.children;
        setText(row.firstChild, label);
        setText(code, command);
        button.setAttribute("aria-label", `Copy the command: ${command}`);
        button.onclick = () => copy(button, command);
      });
    },
  };
}
