// Shows the state that `reassignd status` prints. Reads /v1 periodically, and changes nothing.
"use strict";

const EVERY_MS = 2000;
const JOBS = 20;
const PARTS = 100;
const element = (id) => document.getElementById(id);
const listedJob = () => location.hash.match(/^#job-(\d+)$/)?.[1]; // the job in the address, whose partitions are listed

class RequestError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function get(path) {
  const token = sessionStorage.getItem("token");
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, { headers });
  const body = await answer.json();
  if (!answer.ok) throw new RequestError(answer.status, body.error);
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

// Names may contain invisible characters, such as marks that reverse the text's direction: show their codes.
const visible = (text) => String(text ?? "").replace(/[\p{C}\u2028\u2029]/gu, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);

// ---- tables: values are set as text, never as markup ----------------------------------------------------------

const FIGURE = /^[\d.,]+( [^\d\s]+( \d+ [^\d\s]+)?)?$/;

function cell(value, kind, numeric) {
  const node = document.createElement(kind);
  if (value instanceof Node) node.append(value);
  else node.textContent = visible(value);
  if (numeric) node.className = "number";
  return node;
}

function table(id, heads, rows) {
  const numeric = heads.map((_, column) => rows.some((row) => FIGURE.test(row[column]?.textContent ?? row[column])));
  const line = (values, kind) => {
    const node = document.createElement("tr");
    node.append(...values.map((value, column) => cell(value, kind, numeric[column])));
    return node;
  };
  element(id).replaceChildren(...(rows.length ? [line(heads, "th"), ...rows.map((row) => line(row, "td"))] : []));
  if (id !== "jobs") element(id).closest("section").hidden = !rows.length;
}

function bar(done, total) {
  const node = document.createElement("progress");
  node.max = Math.max(total, 1);
  node.value = done;
  node.title = `${count(done)} of ${count(total)}`;
  return node;
}

function jobLink(number) {
  const node = document.createElement("a");
  node.href = `#job-${number}`;
  node.textContent = number;
  return node;
}

// ---- sections ---------------------------------------------------------------------------------------------------

function pill(text, kind) {
  element("pill").textContent = text;
  element("pill").className = kind;
}

function trouble(text) {
  element("trouble").textContent = visible(text);
  element("trouble").hidden = !text;
}

function showStatus(status) {
  const { brokers, partitions, reassignments: moves, health } = status;
  element("version").textContent = status.version;
  element("cluster").textContent = visible(`cluster ${status.cluster_id}`);
  if (health.trouble) pill(health.holds ? "holding" : "unhealthy", "bad");
  else if (status.paused) pill("paused", "warn");
  else pill(moves.moving ? "moving" : "healthy", "good");
  trouble(health.trouble && `${health.trouble}${health.holds ? ": nothing new starts" : ""}`);
  const throttle = status.throttle.bytes_per_second;
  const numbers = [
    ["moving", moves.moving], ["queued", moves.queued], ["waiting", moves.waiting], ["external", moves.others],
    ["brokers", `${brokers.live} of ${brokers.registered}`, brokers.live < brokers.registered],
    ["offline", partitions.offline, partitions.offline], ["under-replicated", partitions.under_replicated],
    ["under min ISR", partitions.under_min_isr, partitions.under_min_isr],
    ["throttle", throttle === null ? "none" : `${bytes(throttle)}/s`],
  ];
  element("numbers").replaceChildren(...numbers.map(([name, value, bad]) => {
    const box = document.createElement("div");
    const figure = document.createElement("b");
    figure.textContent = typeof value === "number" ? count(value) : value;
    if (bad) figure.className = "bad";
    box.append(figure, name);
    return box;
  }));
  table("reasons", ["partitions", "reason"], status.reasons.map((row) => [count(row.partitions), row.reason]));
  table("limits", ["limit", "used", "config"], status.limits.filter((each) => each.limit !== null).map((each) =>
    [`${each.name} ${count(each.limit)}`, each.used === null ? "" : count(each.used), each.config]));
  table("incoming", ["broker", "copied", "of", "rate", "left"], status.incoming.map((each) =>
    [each.broker, bytes(each.bytes), bytes(each.total), each.rate === null ? "" : `${bytes(each.rate)}/s`, duration(each.seconds_left)]));
}

function showJobs({ jobs }) {
  element("none").hidden = jobs.length > 0;
  const heads = ["job", "", "state", "done", "", "copied", "rate", "left", "moving", "waiting", "queued", "since", "from"];
  table("jobs", heads, jobs.map((job) => {
    const { copied } = job;
    const pace = copied && !job.ended_ms ? [
      `${bytes(copied.bytes)} of ${bytes(copied.total)}`,
      copied.rate === null ? "" : `${bytes(copied.rate)}/s`,
      duration(copied.seconds_left),
    ] : ["", "", ""];
    return [
      jobLink(job.id), job.kind, job.state, bar(job.done, job.total), `${count(job.done)} of ${count(job.total)}`,
      ...pace, count(job.moving), count(job.waiting), count(job.queued), time(job.created_ms), `${job.principal} ${job.client_id}`,
    ];
  }));
}

function showParts(detail) {
  element("job").textContent = detail.job.id;
  table("parts", ["partition", "state", "replicas", "step", "target", "reason"], detail.partitions.map((part) =>
    [`${part.topic}-${part.partition}`, part.state, list(part.replicas), list(part.step), list(part.target), part.reason]));
  element("more").textContent = detail.next === null ? "" : `The first ${PARTS}; reassignd job ${detail.job.id} shows all.`;
}

async function refresh() {
  try {
    showStatus(await get("v1/status"));
    showJobs(await get(`v1/jobs?limit=${JOBS}`));
    element("detail").hidden = !listedJob();
    if (listedJob()) showParts(await get(`v1/jobs/${listedJob()}?limit=${PARTS}`));
    element("login").hidden = true;
  } catch (error) {
    const refused = error instanceof RequestError;
    pill(refused ? "refused" : "unreachable", "bad");
    trouble(refused ? error.message : "reassignd does not answer. Retrying.");
    element("login").hidden = !(refused && error.status === 401);
  }
}

element("login").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", element("token").value);
  refresh();
});
addEventListener("hashchange", refresh);

async function poll() {
  if (!document.hidden) await refresh();
  setTimeout(poll, EVERY_MS);
}
poll();
