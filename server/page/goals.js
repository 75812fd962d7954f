// The goals of the builder of plans, their fields, and the request for a proposal that they make.
"use strict";

import { RequestError } from "./api.js";
import { h } from "./dom.js";
import { factorFields, factorsOf } from "./factors.js";

const GOALS = [
  ["drain", "Drain brokers", "so that they can be stopped"],
  ["demote", "Demote brokers", "they lead nothing, for a short maintenance; no data moves"],
  ["relieve", "Relieve brokers", "whose disks are too full"],
  ["repair", "Replace lost replicas", "of brokers and directories that do not come back"],
  ["to", "Move topics or partitions", "to brokers of your choice"],
  ["add", "Add brokers", "and even out replicas"],
  ["rf", "Replication factor", "of some topics"],
  ["balance", "Balance", "replicas and preferred leaders"],
  ["load", "Balance by load", "what was measured: bytes written, read and stored"],
  ["leaders", "Even out leaders", "the preferred ones; no data moves"],
  ["racks", "Repair racks", "after brokers got other racks"],
  ["disks", "Even out log directories", "of each broker; no data leaves it"],
  ["empty", "Empty log directories", "before a volume is removed; no data leaves its broker"],
];

const OF_BROKERS = ["drain", "demote", "relieve", "to", "add"];
const BETWEEN_BROKERS = GOALS.map(([goal]) => goal).filter((goal) => goal !== "disks" && goal !== "empty").join(" ");

export const isGoal = (name) => GOALS.some(([goal]) => goal === name);

const LOADS = {
  replicas: "replicas", bytes: "bytes stored", in: "bytes in: what producers write to its replicas",
  out: "bytes out: what it sends to consumers and followers", "leaders-in": "what producers write to its leaders",
  cpu: "CPU time, as far as bytes tell",
};
const FIRST_LOADS = ["bytes", "in", "out"]; // chosen at first

// Fields of log directories have names of their own: `dir_tolerance` is the tolerance there.
const TEXTS = ["exclude_topics", "tolerance", "by", "spread", "minimize", "preferred_leaders", "relieve_to", "at", "max_bytes", "dir_tolerance", "dir_headroom", "dir_relieve_to"];
const CHECKS = ["fix_racks", "disable_rack_aware", "skip_moving", "allow_partial", "allow_unknown", "dir_allow_partial", "dir_allow_unknown"];
const ofRequest = (name) => name.replace(/^dir_/, "");

const choices = (name, options) => h("select", { name }, ...options.map(([value, text]) => h("option", { value }, text)));
const line = (goals, label, control) => h("p", { "data-for": goals }, h("label", {}, `${label} `, control));
const check = (name, label, goals = null) => h("p", { "data-for": goals }, h("label", {}, h("input", { type: "checkbox", name }), ` ${label}`));
const text = (name, placeholder = null) => h("input", { name, autocomplete: "off", spellcheck: "false", placeholder });

function options() {
  return h("details", {}, h("summary", {}, "Options"),
    line(null, "Not topics that match", text("exclude_topics")),
    line("add balance load", "Allowed deviation from the fair share", text("tolerance", "5%")),
    line("add balance", "Even out", choices("by", [["", "replicas, and bytes where sizes are known"], ["replicas", "replicas"], ["bytes", "bytes"], ["both", "both"]])),
    line("add balance", "Topics", choices("spread", [["", "spread where replicas move anyway"], ["topic", "spread evenly, with further moves"]])),
    line("add balance", "Fewest", choices("minimize", [["", "moves"], ["bytes", "bytes to copy (for even replicas)"]])),
    line("disks", "Allowed deviation from how full the directories of the broker are in the mean", text("dir_tolerance", "10%")),
    line("disks", "Part of each directory that stays free", text("dir_headroom", "10%")),
    line(BETWEEN_BROKERS, "Most replicas to move", h("input", { name: "max_moves", type: "number", min: 0 })),
    line("load", "Most bytes to copy", text("max_bytes", "no limit, or such as 500GiB")),
    line("drain relieve to rf racks", "No broker gets too much of", choices("keep", [["", "nothing in particular"], ["bytes", "bytes"], ["load", "bytes stored, in and out"]])),
    check("allow_unknown", "Count rates that are not known as 0", "drain relieve to rf racks load"),
    line("drain to add rf balance racks", "Preferred leaders", choices("preferred_leaders", [["", "as usual"], ["balance", "even out"], ["keep", "keep"]])),
    check("fix_racks", "Also move replicas that break the rack rule", "drain relieve to add rf balance load"),
    check("disable_rack_aware", "Place replicas regardless of racks", "drain to add rf balance repair"),
    check("dir_allow_unknown", "Take directories of unknown size as equally large, with room for all", "disks empty"),
    check("skip_moving", "Leave out partitions that are being reassigned or queued", BETWEEN_BROKERS));
}

// The choice of the goal.
export function goalChoice() {
  const goals = GOALS.map(([value, label, note], place) => h("label", { class: "goal" },
    h("input", { type: "radio", name: "job", value, checked: place === 0 }), h("span", {}, label, h("small", {}, note))));
  return h("fieldset", { id: "jobs-of-wizard" }, h("legend", {}, "1. What is to be done?"), ...goals);
}

// What follows the choice of topics and brokers.
export const goalFields = () => [
  h("div", { id: "levels", "data-for": "relieve" },
    line("relieve", "Without a broker: all that are fuller than", text("relieve_over", "85%")),
    line("relieve", "How full they may be afterwards", text("relieve_to", "75%"))),
  h("fieldset", { id: "loads", "data-for": "load" }, h("legend", {}, "3. Which loads?"),
    ...Object.entries(LOADS).map(([value, label]) => h("p", {}, h("label", {}, h("input", { type: "checkbox", name: "load", value, checked: FIRST_LOADS.includes(value) }), ` ${label}`))),
    line("load", "Rates of", choices("at", [["busy", "the busy hour"], ["mean", "the day, as a mean"], ["now", "the last minutes"]]))),
  h("fieldset", { id: "factors", "data-for": "rf" }, h("legend", {}, "3. Which replication factor?"), ...factorFields()),
  line("empty", "How full the other directories of the broker may get", text("dir_relieve_to", "80%")),
  check("dir_allow_partial", "Accept that replicas stay for which no other directory has room", "empty"),
  check("allow_partial", "Accept that some broker has too much, where no plan can do more", "relieve drain to rf racks"),
  options(),
];

// `brokers`, `dirs`, `topics` (an expression) and `partitions` are those that are chosen. A field that is hidden or empty is left out.
export function requestOf(form, { brokers, dirs, topics, partitions }) {
  const data = new FormData(form);
  const goal = data.get("job");
  const given = (name) => data.get(name)?.trim() && !form.elements[name].closest("[hidden]") && data.get(name).trim();
  const load = () => ({ balance: true, by: data.getAll("load").join(",") });
  // Brokers that come back keep their replicas.
  const repair = () => ({ repair: true, ...(brokers.length ? { exclude_brokers: brokers } : {}) });
  const body = OF_BROKERS.includes(goal) ? { [goal]: brokers } : ({ rf: () => factorsOf(data), load, repair, disks: () => ({ disks: { brokers } }), empty: () => ({ disks: { empty: dirs } }) }[goal]?.() ?? { [goal]: true });
  for (const name of TEXTS) if (given(name)) body[ofRequest(name)] = given(name);
  if (given("keep")) body.by = given("keep");
  for (const name of CHECKS) if (given(name)) body[ofRequest(name)] = true;
  if (given("max_moves")) body.max_moves = Number(data.get("max_moves"));
  if (topics && partitions.length) throw new RequestError(400, "Choose topics or single partitions, not both.");
  if (topics) body.topics = topics;
  if (partitions.length) body.partitions = partitions;
  if (goal === "empty" && !dirs.length) throw new RequestError(400, "Choose at least one directory.");
  if (goal === "load" && !body.by) throw new RequestError(400, "Choose at least one load.");
  if (goal === "to" && !topics && !partitions.length) throw new RequestError(400, "Choose at least one topic or partition.");
  if (OF_BROKERS.includes(goal) && goal !== "relieve" && !brokers.length) throw new RequestError(400, "Choose at least one broker.");
  if (goal === "relieve" && !brokers.length) {
    delete body.relieve;
    delete body.relieve_to;
    body.relieve_over = `${given("relieve_over") || "85%"}:${given("relieve_to") || "75%"}`;
  } else if (goal === "relieve" && body.by) body.relieve_to ??= "75%"; // without it, loads are relieved, and not disks
  return body;
}

// What the server says about its options, with the labels of the fields instead of the options of the command.
export const inWords = (form, said) => said.replace(/--([a-z-]+)/g, (option, name) => {
  const field = ["dir_", "dir_relieve_", "relieve_", ""].map((prefix) => form.elements[prefix + name.replaceAll("-", "_")]).find((each) => each?.closest && !each.closest("[hidden]"));
  return field ? `“${field.closest("label").textContent.trim()}”` : option;
});
