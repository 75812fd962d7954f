// The wizards: choose a goal, see the numbers before and after, then start or queue the plan as a job.
"use strict";

import { RequestError, get, post, remove, withQuery } from "./api.js";
import { brokerTable, charts } from "./broker_figures.js";
import { element } from "./dom.js";
import { rateLine, scheduledLine } from "./forecast.js";
import { bytes, count, counted, duration, rate, readRate, visible } from "./format.js";
import { saveJson } from "./save.js";
import { attempt, begin } from "./session.js";

const POLL_MS = 500;
const form = element("wizard");
const brokers = brokerTable();
let shown = null; // the proposal on the page
let running = null; // the number of the proposal that is being computed

// ---- choose ---------------------------------------------------------------------------------------------------------

const chosenJob = () => new FormData(form).get("job");

function showFields() {
  for (const node of form.querySelectorAll("[data-for]")) node.hidden = !node.dataset.for.split(" ").includes(chosenJob());
}

async function load() {
  const { brokers: all, excluded } = await get("v1/placement");
  element("brokers").replaceChildren(...all.map((broker) => {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.name = "broker";
    box.value = broker.id;
    const notes = [broker.rack, broker.live ? "" : "offline", excluded.includes(broker.id) ? "excluded" : ""].filter(Boolean);
    label.append(box, visible(` ${broker.id}${notes.length ? ` (${notes.join(", ")})` : ""}`));
    return label;
  }));
  form.hidden = false;
  showFields();
}

// The body of the request: a field that is hidden or empty is left out.
function goal() {
  const data = new FormData(form);
  const job = chosenJob();
  const chosen = data.getAll("broker").map(Number);
  const body = { drain: { drain: chosen }, add: { add: chosen }, rf: { rf: Number(data.get("rf")) }, balance: { balance: true }, racks: { racks: true } }[job];
  for (const name of ["topics", "exclude_topics", "tolerance", "by", "spread", "minimize", "preferred_leaders"]) {
    if (data.get(name) && !form.elements[name].closest("[hidden]")) body[name] = data.get(name);
  }
  if (data.get("max_moves")) body.max_moves = Number(data.get("max_moves"));
  for (const name of ["fix_racks", "skip_moving"]) if (data.get(name)) body[name] = true;
  if ((job === "drain" || job === "add") && !chosen.length) throw new RequestError(400, "Choose at least one broker.");
  return body;
}

// ---- propose --------------------------------------------------------------------------------------------------------

function showProgress(proposal) {
  const { state, read_partitions: read, cluster_partitions: all, seconds } = proposal;
  element("bar").max = Math.max(all, 1);
  if (state === "computing" && read < all) element("bar").value = read;
  else element("bar").removeAttribute("value");
  element("phase").textContent = state === "waiting" ? "waits for another proposal" : `${count(all)} partitions, ${Math.round(seconds)}\u00a0s`;
}

async function ready(proposal) {
  while (proposal.state === "waiting" || proposal.state === "computing") {
    running = proposal.id;
    showProgress(proposal);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (running === null) return null;
    proposal = await get(`v1/proposals/${proposal.id}`);
  }
  if (proposal.state === "failed") throw new RequestError(422, proposal.reasons.join("; "));
  return proposal;
}

async function propose() {
  await compute("v1/proposals", goal());
}

async function proposeAgain() {
  await compute(`v1/proposals/${shown.id}/again`);
}

async function compute(path, body) {
  element("result").hidden = true;
  element("propose").disabled = true;
  element("progress-of-proposal").hidden = false;
  element("phase").textContent = "";
  try {
    const proposal = await ready(await post(path, body));
    if (proposal) show(proposal);
  } finally {
    running = null;
    element("propose").disabled = false;
    element("progress-of-proposal").hidden = true;
  }
}

// What a proposal does, in words.
function lines(figures) {
  const { forecast } = figures;
  const time = forecast && figures.moves
    ? [`forecast: ${duration(forecast.seconds)} at ${rate(forecast.bandwidth)} per broker, under the limits in force`, rateLine(forecast), scheduledLine(forecast)].filter(Boolean)
    : [];
  const more = figures.left_out_partitions ? [`${counted(figures.left_out_partitions, "partition")} left out`] : [];
  return [...figures.summary, ...time, ...more];
}

function show(proposal) {
  shown = proposal;
  const { figures } = proposal;
  element("summary").replaceChildren(...lines(figures).map((text) => {
    const item = document.createElement("li");
    item.textContent = visible(text);
    return item;
  }));
  element("charts").replaceChildren(...charts(figures));
  element("rest").textContent = brokers.show(figures);
  element("start-now").textContent = figures.moves ? `Start: copy ${counted(figures.moves, "replica")}` : "Start";
  element("start").hidden = !figures.partitions;
  element("started").replaceChildren();
  element("result").hidden = false;
  element("result-title").focus();
}

// ---- start ----------------------------------------------------------------------------------------------------------

async function start(event) {
  const throttle = readRate(new FormData(element("start")).get("throttle"));
  const queue = event.submitter?.value === "queue";
  const { job } = await post(withQuery(`v1/proposals/${shown.id}/execute`, { throttle, queue }));
  const link = document.createElement("a");
  link.href = job === null ? "." : `./#job-${job}`;
  link.textContent = job === null ? "Nothing is to be done." : `Job ${job} is submitted.`;
  element("start").hidden = true;
  element("started").replaceChildren(link);
}

async function save(name) {
  saveJson(await get(`v1/proposals/${shown.id}/${name}`), `${name}-${shown.id}.json`);
}

async function cancel() {
  const number = running;
  running = null;
  if (number !== null) await remove(`v1/proposals/${number}`);
}

form.addEventListener("change", showFields);
form.addEventListener("submit", attempt(propose));
element("start").addEventListener("submit", attempt(start));
element("cancel").addEventListener("click", attempt(cancel));
element("again").addEventListener("click", attempt(proposeAgain));
element("save-plan").addEventListener("click", attempt(() => save("plan")));
element("save-rollback").addEventListener("click", attempt(() => save("rollback")));
begin(load);
