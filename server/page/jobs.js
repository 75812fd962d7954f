// Jobs in words, their table, and the actions on a job.
"use strict";

import { Table, h, link, progress, setAttribute, setText } from "./dom.js";
import { bytes, count, counted, duration, program, rate, time } from "./format.js";

const SKIPPED = 5; // skipped partitions that a dialog names

const endings = (job) =>
  Object.entries(job.endings).map(([ending, number]) => `${count(number)} ${ending}`).join(", ");

export const isBetweenDirs = (job) => job.kind === "disks";

// What the numbers of the job count.
export const nounOf = (job) => (isBetweenDirs(job) ? "replica" : "partition");

// How far the job is: bytes while they are known, else partitions that have arrived at their target.
export function howFar(job) {
  const partitions = `${count(job.done)} of ${count(job.total)} done`;
  const { copied } = job;
  return {
    value: copied ? copied.bytes : job.done,
    total: copied ? copied.total : job.total,
    text: copied ? `${bytes(copied.bytes)} of ${bytes(copied.total)}, ${partitions}` : partitions,
    label: `Job ${job.id}: ${partitions}`,
  };
}

// In the table, another column has the partitions.
const inTable = (job) => ({ ...howFar(job), ...(job.copied && { text: `${bytes(job.copied.bytes)} of ${bytes(job.copied.total)}` }) });

export function stateOf(job, allPaused) {
  if (job.outcome === "rolled back" && job.rolled_back_by) return `rolled back by job ${job.rolled_back_by}`;
  if (job.ended_ms) return Object.keys(job.endings).length > 1 ? `${job.outcome}: ${endings(job)}` : job.outcome;
  const others = Object.entries(job.endings).filter(([ending]) => ending !== "done");
  const ended = others.map(([ending, number]) => `, ${count(number)} ${ending}`).join("");
  return `${allPaused && job.state === "running" ? "paused with everything" : job.held ? "held" : job.state}${ended}`;
}

const kind = (job) => (job.undoes ? `rollback of job ${job.undoes}` : isBetweenDirs(job) ? "moves between directories" : job.kind);

const took = (job) => duration(((job.ended_ms ?? Date.now()) - job.created_ms) / 1000);

// The server's clock may be ahead of the browser's.
const lasted = (job) => (job.ended_ms || Date.now() > job.created_ms ? took(job) : "0 s");

// A Kafka user may be called like another kind of principal: then its type is shown.
const name = (principal) => principal.replace(/^User:(?!unknown)(?=[^:]*$)/, "");
export const by = (job) => [name(job.principal), program(job.client_id)].filter(Boolean).join(", ");

// The state of a job in a word, and its kind: `good`, `info`, `warn` or `bad`.
export function badgeOf(job, allPaused) {
  if (job.ended_ms) return [stateOf(job), job.outcome === "done" ? "good" : job.outcome === "rolled back" ? "idle" : "warn"];
  if (job.state === "paused" || allPaused) return ["paused", "warn"];
  if (job.held) return ["held", "warn"];
  if (job.waiting && !job.moving && !job.queued) return ["waiting", "bad"];
  if (job.moving && job.stalled === job.moving) return ["stalled", "bad"];
  return [job.moving ? "moving" : "running", "info"];
}

// Partitions of a job by what they do, as [name, number], without zeros.
export function shares(job, allPaused) {
  const [rest] = badgeOf(job, allPaused);
  const ended = Object.entries(job.endings).filter(([ending]) => ending !== "done");
  const still = job.ended_ms ? [] : [["moving", job.moving - job.stalled], ["stalled", job.stalled], ["waiting", job.waiting], [rest === "paused" || rest === "held" ? rest : "queued", job.queued]];
  return [["done", job.done], ...still, ...ended].filter(([, number]) => number > 0);
}

const partitions = (job, app) => shares(job, app.status?.paused).map(([name, number]) => `${count(number)} ${name}`).join(", ") + (isBetweenDirs(job) ? " (replicas)" : "");

const badge = (of) => ({
  make(cell) {
    cell.append(h("span"));
  },
  patch(cell, row) {
    const [text, kind] = of(row);
    setText(cell.firstChild, text);
    setAttribute(cell.firstChild, "class", `badge ${kind}`);
  },
});

// Limits of a job, as `P=20 B=2`; those that are null are left out.
export const limitsText = (limits) => limits.filter(({ limit }) => limit !== null).map(({ name, limit }) => `${name}=${limit}`).join(" ");

export function kindOf(job) {
  if (job.ended_ms) return kind(job);
  const own = [job.priority && `priority ${job.priority}`, job.throttle !== null && `throttle ${rate(job.throttle)}`, job.limits.length && `limits ${limitsText(job.limits)}`];
  return [kind(job), ...own.filter(Boolean)].join(", ");
}

export function jobTable(app) {
  return new Table("jobs", "Jobs, the newest first", [
    { label: "job", ...link((job) => `#/jobs/${job.id}`, (job) => job.id) },
    { label: "kind", text: kindOf },
    { label: "state", ...badge((job) => badgeOf(job, app.status?.paused)) },
    { label: "progress", wide: true, nowrap: true, ...progress(inTable) },
    { label: "rate", number: true, text: (job) => rate(job.copied?.rate ?? null) },
    { label: "time left", number: true, text: (job) => duration(job.copied?.seconds_left ?? null) },
    { label: "partitions", text: (job) => partitions(job, app) },
    { label: "started", nowrap: true, text: (job) => time(job.created_ms) },
    { label: "ended", nowrap: true, text: (job) => time(job.ended_ms) },
    { label: "duration", number: true, text: (job) => lasted(job) },
    { label: "by", wide: true, text: by },
  ], (job) => job.id);
}

export const noJobs = () =>
  h("p", { id: "none", hidden: true }, "There are no jobs. ", h("a", { href: "#/plan/propose" }, "Have a plan proposed"), " or ", h("a", { href: "#/plan" }, "enter one"), ", or start a job with ", h("code", {}, "reassignd execute plan.json"), " or any Kafka tool.");

// Each action is [name, label for screen readers, function, kind]. Those that do not apply are left out.
export function actionsOf(job, app) {
  if (!app.mayChange) return [];
  const { run } = app;
  const rollback = ["Roll back…", `Roll back job ${job.id}`, () => run.rollback(job), "danger"];
  if (job.ended_ms) return job.rolled_back_by || !restorable(job) ? [] : [rollback];
  return [
    job.state === "paused"
      ? ["Resume", `Resume job ${job.id}`, () => run.resume(job)]
      : ["Pause…", `Pause job ${job.id}`, () => run.pause(job)],
    ["Priority…", `Change the priority of job ${job.id}`, () => run.prioritize(job)],
    ["Throttle…", `Change the throttle of job ${job.id}`, () => run.throttle(job)],
    ["Limits…", `Change the limits of job ${job.id}`, () => run.limit(job)],
    ["Cancel…", `Cancel job ${job.id}`, () => run.cancel(job), "danger"],
    rollback,
  ];
}

const restorable = (job) => job.done > 0 || (job.endings.stopped ?? 0) > 0;

// ---- what the dialogs say ---------------------------------------------------------------------------------------

export function pauseLines(job) {
  return [
    job.queued ? `${counted(job.queued, `queued ${nounOf(job)}`)} will not start until the job is resumed.` : "Nothing is queued: only steps in flight are left.",
    job.moving > 0 && `${counted(job.moving, isBetweenDirs(job) ? "copy" : "step", isBetweenDirs(job) ? "copies" : "steps")} in flight will finish.`,
    job.stalled > 0 && `${count(job.stalled)} of them make no progress now.`,
  ];
}

export function cancelLines(job, mode) {
  const goBack = isBetweenDirs(job) ? "stay in their directories" : mode === "stop" ? "keep the replicas that have arrived" : "get their original replicas back";
  const noun = nounOf(job);
  const [moving, rest] = [job.moving, job.queued + job.waiting];
  const open = [moving && counted(moving, `moving ${noun}`), rest && `${counted(rest, noun)} not moving now`].filter(Boolean);
  return [
    `${open.join(" and ")} ${goBack}.`,
    job.copied && `${bytes(job.copied.bytes)} of ${bytes(job.copied.total)} are copied.`,
    job.done > 0 && `${counted(job.done, noun)} at the target stay there; a rollback takes them back too.`,
  ];
}

export function rollbackLines(job, preview) {
  const { skipped, examples, waiting_partitions: waits, waiting: [first] } = preview;
  const [noun, back] = [nounOf(job), isBetweenDirs(job) ? "back to the directories of before" : "back to the original replicas"];
  return [
    `${counted(preview.partitions, noun)} will move ${preview.undoes ? `to the targets of job ${preview.undoes} again` : back}; ${bytes(preview.bytes)} are copied for that.`,
    preview.unmoved > 0 && `${counted(preview.unmoved, noun)} not moved yet will only leave job ${job.id}.`,
    preview.withdrawn > 0 && `${counted(preview.withdrawn, "queued partition")} will be withdrawn.`,
    preview.unchanged > 0 && `${counted(preview.unchanged, noun)} will not change.`,
    waits > 0 && `${counted(waits, "partition")} cannot arrive now; the first is ${first.topic}-${first.partition}: ${first.reason}.`,
    ...examples.slice(0, SKIPPED).map((each) => `Skipped: ${each.topic}-${each.partition}: ${each.reason}.`),
    skipped > SKIPPED && `Skipped: ${count(skipped - SKIPPED)} more.`,
    "The rollback is a job of its own, under the same limits.",
  ];
}
