// What `reassignd status` says, in a browser: it asks /v1 and shows; nothing can be changed here.
"use strict";

const EVERY_MS = 2000;
const JOBS = 20;
const PARTS = 100;
const at = (id) => document.getElementById(id);
const shown = () => location.hash.match(/^#job-(\d+)$/)?.[1]; // the job whose partitions are listed

class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(path) {
  const token = sessionStorage.getItem("token");
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, { headers });
  const body = await answer.json();
  if (!answer.ok) throw new Refusal(answer.status, body.error);
  return body;
}

// ---- texts ------------------------------------------------------------------------------------------------

const count = (number) => (number ?? 0).toLocaleString("en");

function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  for (; number >= 1024 && unit < units.length - 1; unit += 1) number /= 1024;
  return `${number.toLocaleString("en", { maximumSignificantDigits: 3 })} ${units[unit]}`;
}

function duration(seconds) {
  if (seconds === null) return "";
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = parts.findIndex(([size]) => seconds >= size);
  if (first < 0) return "0 s";
  return parts.slice(first, first + 2)
    .map(([size, name], place) => [Math.floor((place ? seconds % parts[first][0] : seconds) / size), name])
    .filter(([number]) => number)
    .map((each) => each.join(" "))
    .join(" ");
}

const list = (replicas) => (replicas ? `[${replicas.join(", ")}]` : "");
const time = (ms) => (ms ? new Date(ms).toLocaleString() : "");

// What others have put into a text and nobody can see, such as marks that turn its direction around, is written out.
const visible = (text) => String(text ?? "").replace(/[\p{C}\u2028\u2029]/gu, (each) => `\\u{${each.codePointAt(0).toString(16)}}`);

// ---- tables: what comes from others is text, never markup ------------------------------------------------------

const FIGURE = /^[\d.,]+( [^\d\s]+( \d+ [^\d\s]+)?)?$/;

function cell(value, kind, numeric) {
  const made = document.createElement(kind);
  if (value instanceof Node) made.append(value);
  else made.textContent = visible(value);
  if (numeric) made.className = "number";
  return made;
}

function table(id, heads, rows) {
  const numeric = heads.map((_, column) => rows.some((row) => FIGURE.test(row[column]?.textContent ?? row[column])));
  const line = (values, kind) => {
    const made = document.createElement("tr");
    made.append(...values.map((value, column) => cell(value, kind, numeric[column])));
    return made;
  };
  at(id).replaceChildren(...(rows.length ? [line(heads, "th"), ...rows.map((row) => line(row, "td"))] : []));
  if (id !== "jobs") at(id).closest("section").hidden = !rows.length;
}

function bar(done, total) {
  const made = document.createElement("progress");
  made.max = Math.max(total, 1);
  made.value = done;
  made.title = `${count(done)} of ${count(total)}`;
  return made;
}

function opener(number) {
  const made = document.createElement("a");
  made.href = `#job-${number}`;
  made.textContent = number;
  return made;
}

// ---- what is shown ----------------------------------------------------------------------------------------------

function pill(text, kind) {
  at("pill").textContent = text;
  at("pill").className = kind;
}

function trouble(text) {
  at("trouble").textContent = visible(text);
  at("trouble").hidden = !text;
}

function showStatus(status) {
  const { brokers, partitions, reassignments: moves, health } = status;
  at("version").textContent = status.version;
  at("cluster").textContent = visible(`cluster ${status.cluster_id}`);
  if (health.trouble) pill(health.holds ? "holding" : "not well", "bad");
  else if (status.paused) pill("paused", "warn");
  else pill(moves.moving ? "moving" : "well", "good");
  trouble(health.trouble && `${health.trouble}${health.holds ? ": nothing new starts" : ""}`);
  const throttle = status.throttle.bytes_per_second;
  const numbers = [
    ["moving", moves.moving], ["queued", moves.queued], ["waiting", moves.waiting], ["of others", moves.others],
    ["brokers", `${brokers.live} of ${brokers.registered}`, brokers.live < brokers.registered],
    ["offline", partitions.offline, partitions.offline], ["under-replicated", partitions.under_replicated],
    ["under min ISR", partitions.under_min_isr, partitions.under_min_isr],
    ["throttle", throttle === null ? "none" : `${bytes(throttle)}/s`],
  ];
  at("numbers").replaceChildren(...numbers.map(([name, value, bad]) => {
    const box = document.createElement("div");
    const figure = document.createElement("b");
    figure.textContent = typeof value === "number" ? count(value) : value;
    if (bad) figure.className = "bad";
    box.append(figure, name);
    return box;
  }));
  table("reasons", ["partitions", "reason"], status.reasons.map((each) => [count(each.partitions), each.reason]));
  table("limits", ["limit", "used", "config"], status.limits.filter((each) => each.limit !== null).map((each) =>
    [`${each.name} ${count(each.limit)}`, each.used === null ? "" : count(each.used), each.config]));
  table("incoming", ["broker", "copied", "of", "rate", "left"], status.incoming.map((each) =>
    [each.broker, bytes(each.bytes), bytes(each.total), each.rate === null ? "" : `${bytes(each.rate)}/s`, duration(each.seconds_left)]));
}

function showJobs({ jobs }) {
  at("none").hidden = jobs.length > 0;
  const heads = ["job", "", "state", "done", "", "copied", "rate", "left", "moving", "waiting", "queued", "since", "from"];
  table("jobs", heads, jobs.map((job) => {
    const { copied } = job;
    const pace = copied && !job.ended_ms ? [
      `${bytes(copied.bytes)} of ${bytes(copied.total)}`,
      copied.rate === null ? "" : `${bytes(copied.rate)}/s`,
      duration(copied.seconds_left),
    ] : ["", "", ""];
    return [
      opener(job.id), job.kind, job.state, bar(job.done, job.total), `${count(job.done)} of ${count(job.total)}`,
      ...pace, count(job.moving), count(job.waiting), count(job.queued), time(job.created_ms), `${job.principal} ${job.client_id}`,
    ];
  }));
}

function showParts(detail) {
  at("job").textContent = detail.job.id;
  table("parts", ["partition", "state", "replicas", "step", "target", "reason"], detail.partitions.map((part) =>
    [`${part.topic}-${part.partition}`, part.state, list(part.replicas), list(part.step), list(part.target), part.reason]));
  at("more").textContent = detail.next === null ? "" : `The first ${PARTS}; reassignd job ${detail.job.id} shows all.`;
}

async function refresh() {
  try {
    showStatus(await ask("v1/status"));
    showJobs(await ask(`v1/jobs?limit=${JOBS}`));
    at("detail").hidden = !shown();
    if (shown()) showParts(await ask(`v1/jobs/${shown()}?limit=${PARTS}`));
    at("login").hidden = true;
  } catch (error) {
    const refused = error instanceof Refusal;
    pill(refused ? "not served" : "not reachable", "bad");
    trouble(refused ? error.message : "reassignd does not answer; it is asked again.");
    at("login").hidden = !(refused && error.status === 401);
  }
}

at("login").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", at("token").value);
  refresh();
});
addEventListener("hashchange", refresh);

async function forEver() {
  if (!document.hidden) await refresh();
  setTimeout(forEver, EVERY_MS);
}
forEver();
