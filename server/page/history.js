// The audit log: filters, pages, and an export of what they select.
"use strict";

import { download, get, hasToken, withQuery } from "./api.js";
import { Table, element, link, setHidden, setText } from "./dom.js";
import { count, counted, program, rate, time } from "./format.js";
import { saveBlob } from "./save.js";
import { attempt, begin } from "./session.js";

const EVERY_MS = 5000;
const ROWS = 50;

const form = element("filters");
const cursors = []; // `before` of the pages from the second one to this one

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

const table = new Table("entries", [
  { label: "time", text: (entry) => time(entry.time_ms) },
  { label: "action", text: (entry) => entry.action },
  { label: "job", ...link((entry) => (entry.job === null ? null : `./#job-${entry.job}`), (entry) => entry.job ?? "") },
  { label: "what", wide: true, text: (entry) => WHAT[entry.action]?.(entry) ?? "" },
  { label: "by", wide: true, text: (entry) => entry.principal },
  { label: "client", wide: true, text: (entry) => program(entry.client_id) },
], (entry) => entry.id);

// ---- reading ------------------------------------------------------------------------------------------------------

const moment = (text) => (text ? new Date(text).getTime() : "");

function match() {
  const given = Object.fromEntries(new FormData(form));
  const job = /^\s*[1-9]\d{0,8}\s*$/.test(given.job) ? given.job.trim() : "";
  return { ...given, principal: given.principal.trim(), topic: given.topic.trim(), job, since: moment(given.since), until: moment(given.until) };
}

let newest = 0; // the number of the last request; answers of earlier ones are outdated

async function load() {
  const turn = (newest += 1);
  const { entries, next } = await get("v1/audit", { ...match(), before: cursors.at(-1) ?? "", limit: ROWS });
  if (turn !== newest) return;
  table.show(entries);
  setHidden(element("entries"), !entries.length);
  setHidden(element("none"), entries.length > 0);
  setText(element("pages").querySelector("span"), `Page ${count(cursors.length + 1)}`);
  element("newer").disabled = !cursors.length;
  element("older").disabled = next === null;
  element("older").onclick = () => turnTo(() => cursors.push(next));
  element("export").href = withQuery("v1/audit/export", match());
}

function turnTo(change) {
  change();
  attempt(load)();
}

// A link does not send the token of this tab.
async function save() {
  saveBlob(await download(element("export").getAttribute("href")), "audit.jsonl");
}

async function poll() {
  if (!document.hidden && element("login").hidden && !cursors.length) await attempt(load)();
  setTimeout(poll, EVERY_MS);
}

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", () => turnTo(() => cursors.splice(0)));
element("newer").addEventListener("click", () => turnTo(() => cursors.pop()));
element("export").addEventListener("click", (event) => hasToken() && attempt(save)(event));
begin(load);
setTimeout(poll, EVERY_MS);
