// The overview: the state of the cluster, the reasons of what does not move, and the brokers that receive data.
"use strict";

import { Table, element, keyed, progress, setHidden, setText } from "./dom.js";
import { bytes, count, counted, duration, rate, time } from "./format.js";

const GUARD = { 0: "The health guard starts repairs only.", 1: "The health guard starts one step at a time." };
const GUARD_OFF = "The health guard is off: steps start nevertheless.";

const NAMED = 3; // brokers with a throttle of others that are named

const reasonColumns = [
  { label: "partitions", number: true, text: (row) => count(row.partitions) },
  { label: "reason", wide: true, text: (row) => row.reason },
];

export function reasonTable(id) {
  const table = new Table(id, reasonColumns, (row) => row.reason);
  return (reasons, others) => {
    table.show(others ? [...reasons, { partitions: others, reason: "other reasons" }] : reasons);
    setHidden(element(id), !reasons.length);
  };
}

function pill(text, kind) {
  const node = element("pill");
  setText(node, text);
  if (node.className !== kind) node.className = kind;
}

export const showPill = pill;

function unseen(health) {
  const since = time(health.unseen_since_ms);
  return `The Kafka cluster has not answered since ${since}: no steps start, and what is shown of it is of that time. ${health.trouble}`;
}

function showHealth({ health, paused, jobs, reassignments: moves }) {
  const guard = health.trouble ? [`${GUARD[health.holds] ?? GUARD_OFF} It found: ${health.trouble}`] : [];
  const lines = health.unseen_since_ms ? [unseen(health)] : [...health.problems, ...guard];
  keyed(element("problems"), lines, () => document.createElement("li")).forEach((node, place) => setText(node, lines[place]));
  setHidden(element("problems"), !lines.length);
  if (lines.length) pill(health.trouble && health.holds === 0 ? "unhealthy, holding" : "unhealthy", "bad");
  else if (paused) pill("paused", "warn");
  else if (jobs.some((job) => job.held)) pill("held", "warn");
  else pill(moves.moving ? "moving" : "healthy", "good");
}

// `pauses` are the newest entries of the audit log about pauses; that of everything has no job.
function showPause({ paused }, pauses) {
  const entry = pauses.find((each) => each.job === null);
  const since = entry ? ` since ${time(entry.time_ms)}, by ${entry.principal}` : "";
  setText(element("paused"), `Everything is paused${since}: steps in flight finish, no others start.`);
  setHidden(element("paused"), !paused);
}

// The throttles that reassignd has not set, the lowest first: each one with its brokers, or of many the lowest.
function othersThrottles(levels) {
  const all = levels.reduce((sum, { brokers }) => sum + brokers.length, 0);
  if (levels.length === 1 || all <= NAMED) return levels.map(othersThrottle).join("; ");
  return `${counted(all, "broker")}, lowest ${othersThrottle(levels[0])}`;
}

function othersThrottle({ bytes_per_second: each, brokers }) {
  const where = brokers.length > NAMED ? counted(brokers.length, "broker") : `broker${brokers.length > 1 ? "s" : ""} ${brokers.join(", ")}`;
  return `${rate(each)} at ${where}`;
}

function numbers({ brokers, partitions, reassignments: moves, throttle, incoming }) {
  const left = incoming.reduce((sum, each) => sum + each.total - each.bytes, 0);
  return [
    ["moving", count(moves.moving)],
    ["queued", count(moves.queued)],
    ["waiting", count(moves.waiting)],
    ["external", count(moves.others)],
    ["left to copy", bytes(left)],
    ["throttle", throttle.bytes_per_second === null ? "none" : rate(throttle.bytes_per_second)],
    ...(throttle.unlisted ? [["not throttled", `${counted(throttle.unlisted, "replica")}: full lists`, true]] : []),
    ...(throttle.set_by_others.length ? [["throttle of others", othersThrottles(throttle.set_by_others)]] : []),
    ["brokers", `${count(brokers.live)} of ${count(brokers.registered)}`, brokers.offline.length > brokers.idle.length],
    ["offline", count(partitions.offline), partitions.offline > 0],
    ["under-replicated", count(partitions.under_replicated), partitions.under_replicated > 0],
    ["under min ISR", count(partitions.under_min_isr), partitions.under_min_isr > 0],
  ];
}

function showNumbers(status) {
  const wanted = numbers(status);
  const make = (name) => {
    const box = document.createElement("div");
    box.append(document.createElement("dt"), document.createElement("dd"));
    box.firstChild.textContent = name;
    return box;
  };
  keyed(element("numbers"), wanted.map(([name]) => name), make).forEach((box, place) => {
    const [, text, bad] = wanted[place];
    setText(box.lastChild, text);
    box.lastChild.classList.toggle("bad", Boolean(bad));
  });
}

function incomingTable() {
  const copied = progress((each) => ({
    value: each.bytes,
    total: each.total,
    text: `${bytes(each.bytes)} of ${bytes(each.total)}`,
    label: `${bytes(each.bytes)} of ${bytes(each.total)} copied to broker ${each.broker}`,
  }));
  return new Table("incoming", [
    { label: "broker", text: (each) => each.broker },
    { label: "copied", ...copied },
    { label: "rate", number: true, text: (each) => rate(each.rate) },
    { label: "time left", number: true, text: (each) => duration(each.seconds_left) },
  ], (each) => each.broker);
}

export function newOverview() {
  const showReasons = reasonTable("reasons");
  const incoming = incomingTable();
  return (status, pauses) => {
    setText(element("version"), status.version);
    setText(element("cluster"), `cluster ${status.cluster_id}, ${counted(status.partitions.total, "partition")}`);
    showHealth(status);
    showPause(status, pauses);
    showNumbers(status);
    setText(element("pause-all"), status.paused ? "Resume everything" : "Pause everything");
    showReasons(status.reasons, status.other_reasons);
    incoming.show(status.incoming);
    setHidden(element("reasons").closest("section"), !status.reasons.length);
    setHidden(element("incoming").closest("section"), !status.incoming.length);
  };
}
