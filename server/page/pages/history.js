// The history: the audit log with filters and pages, and an export of what they select.
"use strict";

import { download, get, hasToken, withQuery } from "../api.js";
import { Table, h, link, setHidden, setText } from "../dom.js";
import { count, counted, program, rate, time } from "../format.js";
import { saveBlob } from "../save.js";

const ROWS = 50;

// ---- what an entry says -------------------------------------------------------------------------------------------

function topics({ topics: names = [], topic_count: total = names.length }) {
  if (!names.length) return "";
  const more = total > names.length ? ` and ${count(total - names.length)} more` : "";
  return ` of ${names.join(", ")}${more}`;
}

function options({ throttle, priority, paused }) {
  return [throttle && `throttle ${rate(throttle)}`, priority && `priority ${priority}`, paused && "submitted paused"]
    .filter(Boolean).map((each) => `; ${each}`).join("");
}

// Configs that are limits are named as on the first page.
const LIMITS = {
  "reassignment.max.concurrent.replica.movements.per.partition": "limit R",
  "reassignment.max.concurrent.partition.movements": "limit P",
  "reassignment.max.concurrent.leader.movements": "limit L",
  "reassignment.max.concurrent.replica.movements": "limit C",
  "reassignment.max.concurrent.replica.movements.per.broker": "limit B",
  "reassignment.throttle.bytes.per.second": "throttle",
};

const isCredential = (name) => name.startsWith("user ");

function valueOf(name, value) {
  if (value === null) return LIMITS[name] || isCredential(name) ? "none" : "default";
  return LIMITS[name] === "throttle" ? rate(Number(value)) : value;
}

// Entries of earlier versions lack the values before the change.
const change = (name, before, value) =>
  `${LIMITS[name] ?? name} ${name in before ? `${valueOf(name, before[name])} → ` : "= "}${valueOf(name, value)}`;

const configs = ({ configs: changes = {}, before = {} }) =>
  Object.entries(changes).map(([name, value]) => change(name, before, value)).join(", ");

// A large request names its first ACLs or credentials only.
function access(detail) {
  const { created = [], deleted = [], configs: credentials = {}, changed = 0 } = detail;
  const parts = [...created.map((acl) => `created ${acl}`), ...deleted.map((acl) => `deleted ${acl}`)];
  if (Object.keys(credentials).length) parts.push(configs(detail));
  const more = changed - created.length - deleted.length - Object.keys(credentials).length;
  return parts.join(", ") + (more > 0 ? ` and ${count(more)} more` : "");
}

const pause = ({ job, detail }) =>
  `${job === null ? "everything" : `job ${job}`}${detail.left ? `, ${counted(detail.left, "partition")} left` : ""}`;

function ordered(detail) {
  const cancelled = detail.cancelled ? `; ${count(detail.cancelled)} cancelled` : "";
  const requested = detail.requested > (detail.partitions ?? 0) ? `, of ${counted(detail.requested, "entry", "entries")}` : "";
  return `${counted(detail.partitions ?? 0, "partition")}${requested}${topics(detail)}${cancelled}${options(detail)}`;
}

const WHAT = {
  order: ({ detail }) => ordered(detail),
  queue: ({ detail }) => ordered(detail),
  cancel: ({ detail }) => `${counted(detail.cancelled ?? 0, "partition")} cancelled${topics(detail)}`,
  rollback: ({ detail }) => {
    const skipped = detail.skipped ? `, ${count(detail.skipped)} skipped` : "";
    return `of job ${detail.rolled_back}: ${counted(detail.partitions ?? 0, "partition")}${skipped}`;
  },
  pause: pause,
  resume: pause,
  limits: ({ detail }) => configs(detail),
  acls: ({ detail }) => access(detail),
  users: ({ detail }) => access(detail),
  priority: ({ job, detail }) => `job ${job}: ${change("priority", detail.before ?? {}, detail.priority ?? 0)}`,
};

const newTable = () => new Table("entries", "Accepted requests, the newest first", [
  { label: "time", text: (entry) => time(entry.time_ms) },
  { label: "action", text: (entry) => entry.action },
  { label: "job", ...link((entry) => (entry.job === null ? null : `#/jobs/${entry.job}`), (entry) => entry.job ?? "") },
  { label: "what", wide: true, text: (entry) => WHAT[entry.action]?.(entry) ?? "" },
  { label: "by", wide: true, text: (entry) => entry.principal },
  { label: "client", wide: true, text: (entry) => program(entry.client_id) },
], (entry) => entry.id);

// ---- reading ------------------------------------------------------------------------------------------------------

const ACTIONS = ["order", "queue", "cancel", "rollback", "pause", "resume", "limits", "priority", "acls", "users"];

const moment = (text) => (text ? new Date(text).getTime() : "");

function filters(changed) {
  const actions = ["", ...ACTIONS].map((value) => h("option", { value }, value || "all"));
  const field = (label, name, attributes) => h("label", {}, label, " ", h("input", { name, ...attributes }));
  return h("form", { id: "filters", onsubmit: (event) => event.preventDefault(), oninput: changed },
    h("label", {}, "Action ", h("select", { name: "action" }, ...actions)),
    field("By", "principal", { autocomplete: "off", placeholder: "User:name" }),
    field("Job", "job", { inputmode: "numeric", pattern: "[0-9]{1,9}", autocomplete: "off" }),
    field("Topic", "topic", { autocomplete: "off" }),
    field("From", "since", { type: "datetime-local" }),
    field("Until", "until", { type: "datetime-local" }));
}

function match(form) {
  const given = Object.fromEntries(new FormData(form));
  const job = /^\s*[1-9]\d{0,8}\s*$/.test(given.job) ? given.job.trim() : "";
  return { ...given, principal: given.principal.trim(), topic: given.topic.trim(), job, since: moment(given.since), until: moment(given.until) };
}

function open(root, _params, app) {
  const cursors = []; // `before` of the pages from the second one to this one
  let next = null; // that of the page after this one
  let newest = 0; // the number of the last request; answers of earlier ones are outdated
  const turn = (change) => () => {
    change();
    app.refresh();
  };
  const form = filters(turn(() => cursors.splice(0)));
  const table = newTable();
  const none = h("p", { id: "none", hidden: true }, "No entry matches.");
  const newer = h("button", { type: "button", id: "newer", onclick: turn(() => cursors.pop()) }, "Newer");
  const older = h("button", { type: "button", id: "older", onclick: turn(() => cursors.push(next)) }, "Older");
  const where = h("span");
  const exported = h("a", { id: "export", href: "v1/audit/export", download: "audit.jsonl" }, "Export these entries as JSON lines");
  // A link does not send the token of this tab.
  const save = app.guard(async () => saveBlob(await download(exported.getAttribute("href")), "audit.jsonl"));
  exported.addEventListener("click", (event) => hasToken() && save(event));
  root.append(h("h1", {}, "History"), h("section", { class: "card" }, form, table.node, none, h("p", { class: "pages", id: "pages" }, newer, where, older, exported)));
  return {
    async update({ paced }) {
      if (paced && cursors.length) return; // Older pages do not change under the reader.
      const turnNumber = (newest += 1);
      const answer = await get("v1/audit", { ...match(form), before: cursors.at(-1) ?? "", limit: ROWS });
      if (turnNumber !== newest) return;
      next = answer.next;
      table.show(answer.entries);
      setHidden(table.node, !answer.entries.length);
      setHidden(none, answer.entries.length > 0);
      setText(where, `Page ${count(cursors.length + 1)}`);
      newer.disabled = !cursors.length;
      older.disabled = next === null;
      exported.href = withQuery("v1/audit/export", match(form));
    },
    close() {},
  };
}

export const page = { title: () => "History", open };
