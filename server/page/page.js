// The page: reads /v1 periodically, changes the document in place, and sends the user's actions.
"use strict";

import { RequestError, UnreachableError, get, getNow, post, setToken } from "./api.js";
import { ask, wholeNumber } from "./confirm.js";
import { element, setHidden, setText } from "./dom.js";
import { count, counted, rate, readRate } from "./format.js";
import { cancelLines, jobTable, pauseLines, rollbackLines } from "./jobs.js";
import { limitTable } from "./limits.js";
import { newOverview, showPill } from "./overview.js";
import { showPace } from "./pace.js";
import { paceRow } from "./pace_limit.js";
import { Parts } from "./parts.js";
import { changeSchedule, readSchedule } from "./schedule.js";
import { readThroughput } from "./throughput.js";

const EVERY_MS = 2000;
const SHARE = 20; // The pause after a refresh is at least this multiple of its duration,
const LONGEST_MS = 10_000; // but not longer than this, however busy the server is.
const DETAIL_SHARE = 100; // The same share for the partitions of a job: a filter visits all of them.
const CLIENT_MS = 30_000; // time between two reads of the role of this client
const JOBS = 20;
const PAUSES = 20; // entries of the audit log in which the pause of everything is looked for

const context = {
  status: null,
  mayChange: false,
  run: {},
  act,
  attempt,
  refresh,
};
let jobsOffset = 0;

// ---- reading ----------------------------------------------------------------------------------------------------

const showOverview = newOverview();
const limits = limitTable(context);
const jobs = jobTable(context);
const parts = new Parts(context);

function trouble(text) {
  setText(element("trouble"), text);
  setHidden(element("trouble"), !text);
}

function showJobs({ total, jobs: rows }) {
  jobs.show(rows);
  setHidden(element("jobs"), !rows.length);
  setHidden(element("none"), total > 0);
  setHidden(element("jobs-pages"), total <= JOBS);
  const [newer, older] = element("jobs-pages").querySelectorAll("button");
  setText(element("jobs-pages").querySelector("span"), `${count(jobsOffset + 1)} to ${count(jobsOffset + rows.length)} of ${counted(total, "job")}`);
  newer.disabled = jobsOffset === 0;
  older.disabled = jobsOffset + rows.length >= total;
}

const detailed = { value: null, at: "", due: 0 };

// In the pace of the page, the partitions of a large job are read less often than the rest.
async function readDetail(number, paced) {
  if (!number) return null;
  const at = `${number} ${JSON.stringify(parts.query)}`;
  if (paced && at === detailed.at && performance.now() < detailed.due) return detailed.value;
  const began = performance.now();
  const value = await get(`v1/jobs/${number}`, parts.query).catch(missing);
  const now = performance.now();
  if (value) value.read_ms = Date.now();
  Object.assign(detailed, { value, at, due: now + Math.min(LONGEST_MS, DETAIL_SHARE * (now - began)) });
  return value;
}

const client = { value: null, due: 0 };

async function readClient() {
  if (performance.now() >= client.due) Object.assign(client, { value: await get("v1/whoami"), due: performance.now() + CLIENT_MS });
  return client.value;
}

let pauses = null;

// The entries about a pause do not change while it lasts, so they are read once.
async function readPauses(paused) {
  if (!paused) pauses = null;
  else pauses ??= (await get("v1/audit", { action: "pause", limit: PAUSES }).catch(noLog)).entries;
  return pauses ?? [];
}

// In ZooKeeper mode the audit log is optional.
function noLog(error) {
  if (error instanceof RequestError && error.status === 409) return { entries: [] };
  throw error;
}

async function readAll(paced) {
  const number = parts.job;
  const [client, status, { limits: rows, pace }, listed, detail] = await Promise.all([
    readClient(),
    get("v1/status"),
    get("v1/limits"),
    get("v1/jobs", { limit: JOBS, offset: jobsOffset }),
    readDetail(number, paced),
    readThroughput(),
  ]);
  await readSchedule(status.schedule);
  const entries = await readPauses(status.paused);
  context.status = status;
  context.mayChange = client.role === "operator";
  setText(element("client"), `${client.principal}, ${client.role}`);
  for (const id of ["pause-all", "change-schedule"]) setHidden(element(id), !context.mayChange);
  showOverview(status, entries);
  limits.show([...rows, paceRow(pace)]);
  await showPace(status.pace);
  showJobs(listed);
  setHidden(element("detail"), !detail || number !== parts.job);
  if (detail && number === parts.job) showDetail(detail, listed.jobs.find(({ id }) => id === detail.job.id) ?? detail.job);
}

// The table of jobs may be newer than the detail: both show the same numbers.
function showDetail(detail, job) {
  if (job.state !== detail.job.state) detailed.due = 0; // The next refresh reads the partitions, too.
  parts.show({ ...detail, job });
}

// The job in the address may have been deleted: the rest of the page is shown nevertheless.
function missing(error) {
  if (error instanceof RequestError && error.status === 404) return null;
  throw error;
}

let refreshing = null;
let asked = false;

// One refresh runs at a time. A request during it starts another one after it.
async function refresh(paced = false) {
  asked = true;
  refreshing ??= (async () => {
    while (asked) {
      asked = false;
      await refreshOnce(paced);
      paced = false;
    }
    refreshing = null;
  })();
  await refreshing;
}

async function refreshOnce(paced) {
  try {
    await readAll(paced);
    trouble("");
    setHidden(element("content"), false);
    setHidden(element("login"), true);
  } catch (error) {
    const refused = error instanceof RequestError;
    if (!refused && !(error instanceof UnreachableError)) throw error;
    showPill(refused ? "refused" : "unreachable", "bad");
    trouble(refused ? error.message : "reassignd does not answer. Retrying.");
    client.due = 0;
    const locked = refused && error.status === 401;
    if (locked && element("login").hidden) {
      setHidden(element("content"), true);
      setHidden(element("login"), false);
      element("token").focus();
    }
  }
}

async function poll() {
  const began = performance.now();
  // Without a token there is nothing to read until the user enters one.
  if (!document.hidden && element("login").hidden) await refresh(true);
  setTimeout(poll, Math.max(EVERY_MS, Math.min(LONGEST_MS, SHARE * (performance.now() - began))));
}

// ---- actions ----------------------------------------------------------------------------------------------------

async function act(text, send) {
  try {
    const answer = await send();
    setText(element("said"), typeof text === "function" ? text(answer) : text);
  } catch (error) {
    setText(element("said"), error instanceof RequestError ? `Refused: ${error.message}` : error.message);
  }
  setHidden(element("said"), false);
  await refresh();
}

// Returns what `read` reads for a dialog; null when that fails, which is said.
function attempt(read) {
  return read().catch((error) => act("", () => Promise.reject(error)).then(() => null));
}

// The job of this moment: that of the page may be older than the last change.
const jobNow = async ({ id }) => (await attempt(() => getNow(`v1/jobs/${id}?limit=0`)))?.job;

context.run = {
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
    const field = { label: "Rate, such as 50MB; nothing for none", value: job.throttle ?? "", read: readRate };
    const answer = await ask(`Throttle of job ${job.id}`, lines, "Change", field);
    if (answer) {
      const changed = answer.value === null ? "none" : rate(answer.value);
      await act(`Throttle of job ${job.id}: ${own} → ${changed}.`, () => post(`v1/jobs/${job.id}/throttle`, { throttle: answer.value }));
    }
  },
  async cancel(job) {
    if (await ask(`Cancel job ${job.id}?`, cancelLines(job, context.status.cancel_mode), "Cancel the job")) {
      await act(cancelled, () => post("v1/reassignments/cancel", { job: job.id }));
    }
  },
  async cancelPartition({ topic, partition, original }) {
    const back = context.status.cancel_mode === "stop"
      ? "It keeps the replicas that have arrived."
      : `It returns to its original replicas [${original.join(", ")}].`;
    if (await ask(`Cancel ${topic}-${partition}?`, [back], "Cancel the partition")) {
      await act(cancelled, () => post("v1/reassignments/cancel", { partitions: [{ topic, partition }] }));
    }
  },
  async rollback(job) {
    const preview = await attempt(() => get(`v1/jobs/${job.id}/rollback`));
    if (preview && (await ask(`Roll back job ${job.id}?`, rollbackLines(job, preview), "Roll back"))) {
      await act(({ job: number, skipped }) => {
        const started = number === null ? `Job ${job.id} has nothing to roll back.` : `Job ${number} rolls back job ${job.id}.`;
        return skipped.length ? `${started} ${counted(skipped.length, "partition")} skipped: ${skipped[0].topic}-${skipped[0].partition}: ${skipped[0].reason}` : started;
      }, () => post(`v1/jobs/${job.id}/rollback`));
    }
  },
};

const cancelled = ({ cancelled: number, refused }) =>
  `${counted(number, "partition")} cancelled.${refused.length ? ` ${counted(refused.length, "partition")} refused: ${refused[0].message}` : ""}`;

async function pauseAll() {
  const { paused, reassignments: moves } = context.status;
  if (paused) {
    await act("Everything is resumed.", () => post("v1/resume"));
    return;
  }
  const lines = [
    `${counted(moves.queued, "queued partition")} will not start until everything is resumed.`,
    `${counted(moves.moving, "step")} in flight will finish.`,
  ];
  if (await ask("Pause everything?", lines, "Pause everything")) await act("Everything is paused.", () => post("v1/pause"));
}

// ---- start ------------------------------------------------------------------------------------------------------

element("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  setToken(element("token").value);
  client.due = 0;
  await refresh();
});
element("pause-all").addEventListener("click", pauseAll);
element("change-schedule").addEventListener("click", () => changeSchedule(context));
for (const button of element("jobs-pages").querySelectorAll("button")) {
  button.addEventListener("click", () => {
    jobsOffset = Math.max(0, jobsOffset + Number(button.dataset.step) * JOBS);
    refresh();
  });
}
addEventListener("hashchange", async () => {
  parts.offset = 0;
  await refresh();
  if (parts.job) element("detail-title").focus();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && element("login").hidden) refresh();
});
poll();
