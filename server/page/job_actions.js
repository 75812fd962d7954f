// What the buttons of jobs and partitions do: a dialog says the effect in numbers, then the request is sent.
"use strict";

import { get, getNow, post } from "./api.js";
import { ask, wholeNumber } from "./confirm.js";
import { counted, list, rate, rateText, readRate } from "./format.js";
import { cancelLines, isBetweenDirs, limitsText, pauseLines, rollbackLines } from "./jobs.js";

const cancelled = ({ cancelled: number, moves, refused }) =>
  `${moves ? `${counted(moves, "move")} between directories cancelled. ` : ""}${moves && !number ? "" : `${counted(number, "partition")} cancelled.`}${refused.length ? ` ${counted(refused.length, "partition")} refused: ${refused[0].message}` : ""}`;

// The limits that a job may have.
const limitsOf = (job) => (isBetweenDirs(job) ? ["B"] : ["R", "P", "L", "C", "B"]);

// `P=20 B=2` as the body of the request: those of the `names` that are not in it are removed.
const readLimits = (names) => (text) => {
  const changes = Object.fromEntries(names.map((name) => [name, null]));
  for (const part of text.split(/[\s,]+/).filter(Boolean)) {
    const [, name, value] = part.toUpperCase().match(/^([A-Z])=([1-9]\d{0,8})$/) ?? [];
    if (!names.includes(name)) throw new Error(`"${part}": expected a limit such as ${names.at(-1)}=2; ${names.length > 1 ? "names are" : "the only name is"} ${names.join(", ")}.`);
    changes[name] = Number(value);
  }
  return changes;
};

export function jobActions(app) {
  const { act, attempt } = app;

  // The job of this moment: that of the page may be older than the last change.
  const jobNow = async ({ id }) => (await attempt(() => getNow(`v1/jobs/${id}?limit=0`)))?.job;

  return {
    async pause(job) {
      if (await ask(`Pause job ${job.id}?`, pauseLines(job), "Pause")) {
        await act(`Job ${job.id} is paused.`, () => post(`v1/jobs/${job.id}/pause`));
      }
    },
    resume: (job) => act(`Job ${job.id} is resumed.`, () => post(`v1/jobs/${job.id}/resume`)),
    async prioritize(row) {
      const job = await jobNow(row);
      if (!job) return;
      const lines = [`It is ${job.priority}. Steps of jobs with a higher priority start first.`];
      const field = { label: "Priority, from -1000 to 1000", value: job.priority, read: wholeNumber(-1000, 1000) };
      const answer = await ask(`Priority of job ${job.id}`, lines, "Change", field);
      if (answer) {
        await act(`Priority of job ${job.id}: ${job.priority} → ${answer.value}.`, () => post(`v1/jobs/${job.id}/priority`, { priority: answer.value }));
      }
    },
    async throttle(row) {
      const job = await jobNow(row);
      if (!job) return;
      const own = job.throttle === null ? "none" : rate(job.throttle);
      const lines = [`Its own is ${own}. The lowest of the throttles of the cluster, the jobs and the schedule is in force.`];
      const field = { label: "Rate, such as 50MB; nothing for none", value: job.throttle ? rateText(job.throttle) : "", read: readRate };
      const answer = await ask(`Throttle of job ${job.id}`, lines, "Change", field);
      if (answer) {
        const changed = answer.value === null ? "none" : rate(answer.value);
        await act(`Throttle of job ${job.id}: ${own} → ${changed}.`, () => post(`v1/jobs/${job.id}/throttle`, { throttle: answer.value }));
      }
    },
    async limit(row) {
      const job = await jobNow(row);
      if (!job) return;
      const own = limitsText(job.limits);
      const names = limitsOf(job);
      const lines = isBetweenDirs(job)
        ? [`Its own is ${own || "none"}: so many replicas move at once in each broker, and one without a limit.`, "That of the cluster applies too. Copies in flight finish."]
        : [`Its own are ${own || "none"}. Those of the cluster apply too. Steps in flight finish.`];
      const field = { label: `Limits, such as ${names.length > 1 ? "P=20 B=2" : "B=2"}; nothing for none`, value: own, read: readLimits(names) };
      const answer = await ask(`Limits of job ${job.id}`, lines, "Change", field);
      if (answer) {
        const changed = limitsText(Object.entries(answer.value).map(([name, limit]) => ({ name, limit })));
        await act(`Limits of job ${job.id}: ${own || "none"} → ${changed || "none"}.`, () => post(`v1/jobs/${job.id}/limits`, answer.value));
      }
    },
    async cancel(job) {
      if (await ask(`Cancel job ${job.id}?`, cancelLines(job, app.status.cancel_mode), "Cancel the job", null, true)) {
        await act(cancelled, () => post("v1/reassignments/cancel", { job: job.id }));
      }
    },
    async cancelPartition({ topic, partition, original }) {
      const back = original ? `It returns to its original replicas ${list(original)}.` : "Another client moves it: its move is cancelled.";
      const effect = app.status.cancel_mode === "stop" ? "It keeps the replicas that have arrived." : back;
      if (await ask(`Cancel ${topic}-${partition}?`, [effect], "Cancel the partition", null, true)) {
        await act(cancelled, () => post("v1/reassignments/cancel", { partitions: [{ topic, partition }] }));
      }
    },
    async rollback(job) {
      const preview = await attempt(() => get(`v1/jobs/${job.id}/rollback`));
      if (preview && (await ask(`Roll back job ${job.id}?`, rollbackLines(job, preview), "Roll back", null, true))) {
        await act(({ job: number, cancelled: moves, skipped }) => {
          const nothing = moves ? `${counted(moves, "move")} between directories cancelled.` : `Job ${job.id} has nothing to roll back.`;
          const started = number === null ? nothing : `Job ${number} rolls back job ${job.id}.`;
          return skipped.length ? `${started} ${counted(skipped.length, "partition")} skipped: ${skipped[0].topic}-${skipped[0].partition}: ${skipped[0].reason}` : started;
        }, () => post(`v1/jobs/${job.id}/rollback`));
      }
    },
    async pauseAll() {
      const { paused, reassignments: moves } = app.status;
      if (paused) {
        await act("Everything is resumed.", () => post("v1/resume"));
        return;
      }
      const lines = [
        `${counted(moves.queued, "queued partition")} will not start until everything is resumed.`,
        `${counted(moves.moving, "step")} in flight will finish.`,
      ];
      if (await ask("Pause everything?", lines, "Pause everything")) await act("Everything is paused.", () => post("v1/pause"));
    },
  };
}
