// The life of a job, from /v1/jobs/N/timeline, as a chart takes it.
"use strict";

import { whatOf } from "./audit_words.js";
import { count } from "./format.js";

const FIRST_MS = 5000; // of the only sample of a job
const LANES = 4; // of brokers; more of them share one

const MARKS = { order: "submitted", queue: "queued", cancel: "cancelled", rollback: "rolled back", limits: "changed", priority: "changed" };

const by = (entry) => entry.principal.replace(/^User:(?=[^:]*$)/, "");

// Samples begin with the first byte: what was before it, such as a pause, is one sample without any.
function wholeLife({ from_ms: from, since_ms: since, samples }) {
  const [first, second = first + FIRST_MS] = samples.times;
  const begun = first - (second - first);
  if (!(begun > from)) return samples;
  const none = since !== null && since <= from ? 0 : null; // Unknown from before the start of the server.
  return { times: [begun, ...samples.times], rates: [none, ...samples.rates], ended: [none, ...samples.ended], throttles: [null, ...samples.throttles] };
}

export function lifeOf(timeline, total) {
  const { from_ms: from, until_ms: until, entries, brokers, holds } = timeline;
  const samples = wholeLife(timeline);
  return {
    from,
    until: Math.max(until, from + 1000),
    series: [
      { name: "copied", kind: "area", tone: "one", times: samples.times, values: samples.rates },
      { name: "throttle of each broker", kind: "dashed", tone: "bad", times: samples.times, values: samples.throttles },
      { name: "ended", kind: "said", tone: "two", times: samples.times, values: samples.ended, format: (ended) => `${count(ended)} of ${count(total)}` },
    ],
    marks: marksOf(entries ?? [], from, until),
    spans: [...pausesOf(entries ?? [], timeline), ...holdsOf(holds, from, until), ...outagesOf(brokers, until)],
  };
}

const marksOf = (entries, from, until) => entries
  .filter((entry) => entry.action in MARKS && entry.time_ms <= until)
  .map((entry) => ({ at: Math.max(from, entry.time_ms), tone: entry.action === "rollback" || entry.action === "cancel" ? "back" : "order", text: `${MARKS[entry.action]}: ${whatOf(entry)}, by ${by(entry)}` }));

// From each pause, of the job or of all, to its end.
function pausesOf(entries, { job, from_ms: from, until_ms: until }) {
  const [spans, open] = [[], new Map()];
  for (const { action, job: of, time_ms: at, detail, ...entry } of entries) {
    if (action === "pause" && !open.has(of)) open.set(of, { lane: "paused", from: at, tone: "held", text: `${of === null ? "everything" : `job ${of}`} paused by ${by(entry)}` });
    else if ((action === "order" || action === "queue") && of === job && detail.paused) open.set(of, { lane: "paused", from, tone: "held", text: "submitted paused" });
    else if (action === "resume" && open.has(of)) {
      spans.push({ ...open.get(of), until: at });
      open.delete(of);
    }
  }
  return [...spans, ...[...open.values()].map((each) => ({ ...each, until }))];
}

function holdsOf(holds, from, until) {
  return holds.flatMap(({ time_ms: at, reason }, place) => (reason
    ? [{ lane: "held", from: Math.max(from, at), until: holds[place + 1]?.time_ms ?? until, tone: "held", text: reason }] : []));
}

function outagesOf(changes, until) {
  const ids = new Set(changes.map((each) => each.broker));
  const [spans, open] = [[], new Map()];
  for (const { broker, live, time_ms: at } of changes) {
    if (!live) open.set(broker, at);
    else if (open.has(broker)) {
      spans.push({ broker, from: open.get(broker), until: at });
      open.delete(broker);
    }
  }
  for (const [broker, from] of open) spans.push({ broker, from, until });
  return spans.map(({ broker, ...span }) => ({ ...span, lane: ids.size > LANES ? "brokers" : `broker ${broker}`, tone: "bad", text: `broker ${broker} offline` }));
}

// What happened, the newest first: { at, tone, text, by }.
export function happenings({ entries, brokers, holds, from_ms: from }) {
  return [
    ...(entries ?? []).map((entry) => ({ at: entry.time_ms, tone: "order", text: `${MARKS[entry.action] ?? `${entry.action}d`}: ${whatOf(entry)}`, by: by(entry) })),
    ...brokers.map(({ time_ms: at, broker, live }) => ({ at, tone: live ? "done" : "bad", text: `broker ${broker} ${live ? "is back" : "went offline"}`, by: "" })),
    ...holds.map(({ time_ms: at, reason }) => ({ at: Math.max(at, from), tone: reason ? "held" : "done", text: reason ? `held: ${reason}` : "no longer held", by: "" })),
  ].sort((a, b) => b.at - a.at);
}
