// Submit a plan: it is checked as it is entered, then reviewed in numbers, then started, queued, or started paused.
"use strict";

import { RequestError, get, postText, withQuery } from "./api.js";
import { ask, wholeNumber } from "./confirm.js";
import { element, setHidden, setText } from "./dom.js";
import { circumstanceLines, copyLine, forecastLine, scheduledLine, underWayLine } from "./forecast.js";
import { bytes, counted, rate, readRate } from "./format.js";
import { showReview } from "./review.js";
import { saveJson } from "./save.js";
import { attempt, begin } from "./session.js";

const PAUSE_MS = 400; // between the last key and the check
const SHOWN = 1_000_000; // characters of a file that are shown to be edited
const REFUSED = 5; // refused partitions that are named

const area = element("plan");
const form = element("start");
let uploaded = null; // the text of a file that is too large to be shown
let checking = null; // aborts the check that runs
let timer;
let review = null; // that of the plan as it is now
let rollback = null;
let mayStart = false;

const plan = () => uploaded ?? area.value;

// ---- check --------------------------------------------------------------------------------------------------------

function say(text, wrong = false) {
  setText(element("plan-state"), text);
  element("plan-state").className = wrong ? "bad" : "";
  area.setAttribute("aria-invalid", wrong);
}

// What was reviewed is out of date from the first change on.
function changed() {
  clearTimeout(timer);
  checking?.abort();
  review = null;
  if (plan().trim()) {
    say("Checking…");
    timer = setTimeout(check, PAUSE_MS);
  } else {
    say("The plan is checked as you enter it. Nothing moves before you start it.");
    setHidden(element("review"), true);
  }
}

async function check() {
  clearTimeout(timer);
  checking?.abort();
  checking = new AbortController();
  const { signal } = checking;
  try {
    const found = await postText(withQuery("v1/plans/review", { throttle: throttle() }), plan(), signal);
    if (signal.aborted) return;
    review = found;
    showReview(review);
    say(`The plan with ${counted(review.partitions, "entry", "entries")} is valid. Nothing moves before you start it.`);
    setHidden(element("review"), false);
  } catch (error) {
    if (signal.aborted) return;
    say(error.message, true);
    // Errors of the throttle leave its field on the page.
    if (error instanceof RequestError) setHidden(element("review"), true);
  }
}

const throttle = () => readRate(form.elements.throttle.value);

async function upload() {
  const [file] = element("file").files;
  if (!file) return;
  const text = await file.text();
  uploaded = text.length > SHOWN ? text : null;
  area.value = uploaded ? "" : text;
  area.placeholder = uploaded ? `${file.name}: ${bytes(file.size)}, not shown. Text that you enter here replaces it.` : "";
  changed();
}

// ---- start --------------------------------------------------------------------------------------------------------

const QUESTIONS = { start: "Start the plan?", paused: "Submit the plan paused?", queue: "Queue the plan?" };
const ACTIONS = { start: "Start", paused: "Submit paused", queue: "Queue" };

function startLines(how, options, openJobs) {
  return [
    `${counted(review.partitions - review.unchanged, "partition")} will move. ${copyLine(review)}`,
    forecastLine(review),
    scheduledLine(review),
    ...circumstanceLines(review),
    underWayLine(review, how === "queue"),
    how === "paused" && "No step starts until the job is resumed.",
    how === "queue" && `It starts behind ${counted(openJobs, "open job")}.`,
    openJobs > 0 && how !== "queue" && `${counted(openJobs, "open job")} share the limits with it; the forecast leaves them out.`,
    `Throttle of the job: ${options.throttle ? rate(options.throttle) : "none"}. Priority: ${options.priority ?? (how === "queue" ? -1 : 0)}.`,
    review.waiting_partitions > 0 && `${counted(review.waiting_partitions, "partition")} cannot arrive now.`,
  ];
}

function priority() {
  const text = form.elements.priority.value.trim();
  return text === "" ? null : wholeNumber(-1000, 1000)(text);
}

async function start(event) {
  if (!mayStart) return;
  const how = event.submitter.value;
  if (!review) await check();
  if (!review) return;
  const options = { throttle: throttle(), priority: priority(), queue: how === "queue", paused: how === "paused" };
  const { jobs } = await get("v1/status");
  if (!(await ask(QUESTIONS[how], startLines(how, options, jobs.length), ACTIONS[how]))) return;
  showAnswer(await postText(withQuery("v1/jobs", options), plan()));
}

function showAnswer({ job, accepted, unchanged, refused, rollback: present }) {
  rollback = present;
  const rest = unchanged ? ` ${counted(unchanged, "entry", "entries")} change nothing.` : "";
  const others = refused.length ? ` ${counted(refused.length, "partition")} refused.` : "";
  setText(element("answer"), (job === null ? "Nothing is to be done." : `Job ${job}: ${counted(accepted, "partition")} accepted.`) + rest + others);
  element("refused").replaceChildren(...refused.slice(0, REFUSED).map((each) => {
    const item = document.createElement("li");
    setText(item, `${each.topic}-${each.partition}: ${each.message}`);
    return item;
  }));
  element("job-link").href = job === null ? "." : `./#job-${job}`;
  for (const id of ["plan-form", "review"]) setHidden(element(id), true);
  setHidden(element("submitted"), false);
  element("submitted-title").focus();
}

// ---- begin --------------------------------------------------------------------------------------------------------

async function load() {
  const { principal, role } = await get("v1/whoami");
  mayStart = role === "operator";
  setText(element("role"), `${principal} has the role ${role} and can review plans. To start one, the role operator is needed.`);
  setHidden(element("role"), mayStart);
  for (const id of ["start-priority", "start-buttons"]) setHidden(element(id), !mayStart);
  setHidden(element("plan-form"), false);
  changed();
}

area.addEventListener("input", () => {
  uploaded = null;
  changed();
});
element("file").addEventListener("change", attempt(upload));
form.elements.throttle.addEventListener("input", changed);
form.addEventListener("submit", attempt(start));
element("save-rollback").addEventListener("click", () => saveJson(rollback, "present-replicas.json"));
begin(load);
