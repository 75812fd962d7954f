// What the entries of the audit log say, and lines that join entries of one action.
"use strict";

import { count, counted, rate, short } from "./format.js";

function topics({ topics: names = [], topic_count: total = names.length }) {
  if (!names.length) return "";
  const more = total > names.length ? ` and ${count(total - names.length)} more` : "";
  return ` of ${names.map(short).join(", ")}${more}`;
}

function options({ throttle, priority, paused }) {
  return [throttle && `throttle ${rate(throttle)}`, priority && `priority ${priority}`, paused && "submitted paused"]
    .filter(Boolean).map((each) => `; ${each}`).join("");
}

// Configs that are limits are named as on the page of the settings.
const LIMITS = {
  "reassignment.max.concurrent.replica.movements.per.partition": "limit R",
  "reassignment.max.concurrent.partition.movements": "limit P",
  "reassignment.max.concurrent.leader.movements": "limit L",
  "reassignment.max.concurrent.replica.movements": "limit C",
  "reassignment.max.concurrent.replica.movements.per.broker": "limit B",
  "reassignment.throttle.bytes.per.second": "throttle",
  "reassignment.excluded.brokers": "brokers without new partitions",
  "reassignment.load.sampling": "measurement of load",
};

const RATES = new Set([
  "throttle", "leader.replication.throttled.rate", "follower.replication.throttled.rate", "replica.alter.log.dirs.io.max.bytes.per.second",
]);

const isCredential = (name) => name.startsWith("user ");

function valueOf(name, value) {
  if (value === null) return LIMITS[name] || isCredential(name) ? "none" : "default";
  return RATES.has(LIMITS[name] ?? name) && /^\d+$/.test(value) ? rate(Number(value)) : value;
}

// Entries of earlier versions lack the values before the change.
const change = (name, before, value) =>
  `${LIMITS[name] ?? name} ${name in before ? `${valueOf(name, before[name])} → ` : "= "}${valueOf(name, value)}`;

const OF_BROKER = /^broker (-?\d+): (.+)$/;

// Broker ids in order: 1 to 4, 7.
export function ranges(ids) {
  const runs = [];
  for (const id of [...ids].sort((a, b) => a - b)) {
    if (runs.length && runs.at(-1)[1] === id - 1) runs.at(-1)[1] = id;
    else runs.push([id, id]);
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : last === first + 1 ? `${first}, ${last}` : `${first} to ${last}`)).join(", ");
}

// Changes of configs in one line. The same change at several brokers is named once.
function configs(details) {
  const same = new Map();
  for (const { configs: changes = {}, before = {} } of details) {
    for (const [name, value] of Object.entries(changes)) {
      const [, broker, config] = name.match(OF_BROKER) ?? [null, null, name];
      const text = change(config, name in before ? { [config]: before[name] } : {}, value);
      if (!same.has(text)) same.set(text, new Set());
      if (broker !== null) same.get(text).add(Number(broker));
    }
  }
  return [...same].map(([text, brokers]) => (brokers.size ? `${text} at ${brokers.size > 1 ? "brokers" : "broker"} ${ranges(brokers)}` : text)).join(", ");
}

// A large request names its first ACLs or credentials only.
function access(detail) {
  const { created = [], deleted = [], configs: credentials = {}, changed = 0 } = detail;
  const parts = [...created.map((acl) => `created ${acl}`), ...deleted.map((acl) => `deleted ${acl}`)];
  if (Object.keys(credentials).length) parts.push(configs([detail]));
  const more = changed - created.length - deleted.length - Object.keys(credentials).length;
  return parts.join(", ") + (more > 0 ? ` and ${count(more)} more` : "");
}

function reviewed({ reviewed: named = [], changed = 0, reason = "" }) {
  const more = changed > named.length ? ` and ${count(changed - named.length)} more` : "";
  return `${named.join(", ")}${more}${reason ? ` (${reason})` : ""}`;
}

const pause = ({ job, detail }) =>
  `${job === null ? "everything" : `job ${job}`}${detail.left ? `, ${counted(detail.left, "partition")} left` : ""}`;

// What an entry counts: partitions, or moves between directories.
const counts = ({ partitions = 0, moves }) => (moves ? `${counted(moves, "move")} between directories` : counted(partitions, "partition"));

function ordered(detail) {
  const cancelled = detail.cancelled ? `; ${count(detail.cancelled)} cancelled` : "";
  const requested = detail.requested > (detail.moves ?? detail.partitions ?? 0) ? `, of ${counted(detail.requested, "entry", "entries")}` : "";
  return `${counts(detail)}${requested}${topics(detail)}${cancelled}${options(detail)}`;
}

export const ACTIONS = ["order", "queue", "cancel", "rollback", "pause", "resume", "limits", "priority", "acls", "users", "review"];

const WHAT = {
  order: ({ detail }) => ordered(detail),
  queue: ({ detail }) => ordered(detail),
  cancel: ({ detail }) => `${counts({ ...detail, partitions: detail.cancelled })} cancelled${topics(detail)}`,
  rollback: ({ detail }) => {
    const skipped = detail.skipped ? `, ${count(detail.skipped)} skipped` : "";
    return `job ${detail.rolled_back}, ${counts(detail)}${skipped}`;
  },
  pause: pause,
  resume: pause,
  limits: ({ detail }) => configs([detail]),
  acls: ({ detail }) => access(detail),
  users: ({ detail }) => access(detail),
  review: ({ detail }) => reviewed(detail),
  priority: ({ job, detail }) => `job ${job}: ${change("priority", detail.before ?? {}, detail.priority ?? 0)}`,
};

export const whatOf = (entry) => WHAT[entry.action]?.(entry) ?? "";

const TOGETHER_MS = 10_000; // between entries that are one action

// Entries, the newest first, as lines: { entry, entries, text }. What one client changed at several brokers in a row is one line.
export function linesOf(entries) {
  const lines = [];
  for (const entry of entries) {
    const last = lines.at(-1);
    if (last && belongs(entry, last.entries.at(-1))) last.entries.push(entry);
    else lines.push({ entry, entries: [entry] });
  }
  return lines.map((line) => ({ ...line, text: line.entries.length > 1 ? configs([...line.entries].reverse().map((each) => each.detail)) : whatOf(line.entry) }));
}

const belongs = (entry, next) =>
  entry.action === "limits" && next.action === "limits" && entry.job === next.job && entry.principal === next.principal
  && entry.client_id === next.client_id && next.time_ms - entry.time_ms <= TOGETHER_MS;
