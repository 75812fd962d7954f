// Actions of the console as commands, to be copied.
"use strict";

import { dirText } from "./dir_picker.js";
import { h, keyed, setText } from "./dom.js";

// The commands that do what the buttons of a job do: { label, command }.
export function commandsOf(job) {
  const number = job.id;
  const open = !job.ended_ms;
  return [
    { label: "Follow", command: `reassignd job ${number}` },
    open && (job.state === "paused" ? { label: "Resume", command: `reassignd resume ${number}` } : { label: "Pause", command: `reassignd pause ${number}` }),
    open && { label: "Throttle", command: `reassignd throttle ${number} 50MB` },
    open && { label: "Limits", command: `reassignd limits --job ${number} ${job.kind === "disks" ? "B=2" : "P=20"}` },
    open && { label: "Priority", command: `reassignd priority ${number} 10` },
    open && { label: "Cancel", command: `reassignd cancel --job ${number}` },
    !job.rolled_back_by && { label: "Roll back", command: `reassignd rollback ${number}` },
  ].filter(Boolean);
}

const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// The goals of a request for a proposal as words.
function goalWords({ rf, factors = [], disks, ...body }) {
  const ids = ["drain", "demote", "relieve", "add"].flatMap((name) => (body[name]?.length ? [name, body[name].join(",")] : []));
  const words = ["balance", "racks", "repair", "leaders"].filter((name) => body[name]);
  const factored = rf ? ["rf", String(rf)] : factors.length ? ["rf", ...factors.map(({ factor, topics }) => `${factor}:${topics}`)] : [];
  const between = disks ? ["disks", ...(disks.brokers?.length ? [disks.brokers.join(",")] : []), ...(disks.empty ? ["--empty", disks.empty.map(dirText).join(",")] : [])] : [];
  return [...ids, ...words, ...factored, ...between];
}

const OPTIONS = { relieve_to: "to", relieve_over: "relieve", preferred_leaders: "leaders" }; // that are not called as in requests
const VALUES = ["topics", "exclude_topics", "exclude_brokers", "tolerance", "headroom", "by", "at", "spread", "minimize", "preferred_leaders", "relieve_to", "relieve_over", "max_moves", "max_bytes"];
const FLAGS = ["fix_racks", "disable_rack_aware", "skip_moving", "allow_partial", "allow_unknown"];

// The command of a request for a proposal, with `more` options; null where there is none: single partitions, and chosen brokers.
export function proposeCommand(body, more) {
  if (body.to || body.partitions) return null;
  const option = (name) => `--${(OPTIONS[name] ?? name).replaceAll("_", "-")}`;
  const values = VALUES.filter((name) => body[name] !== undefined).flatMap((name) => [option(name), String(body[name])]);
  const flags = FLAGS.filter((name) => body[name]).map(option);
  return ["reassignd", "propose", ...goalWords(body), ...values, ...flags, ...(more ?? [])].map(quoted).join(" ");
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
