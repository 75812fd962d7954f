// Submit a plan, which the address can have: ?plan=. It is checked as it is entered, then reviewed in numbers, then started, queued, or started paused.
"use strict";

import { RequestError, get, postText, withQuery } from "../api.js";
import { ask, wholeNumber } from "../confirm.js";
import { h, setHidden, setText } from "../dom.js";
import { circumstanceLines, copyLine, forecastLine, scheduledLine, underWayLine } from "../forecast.js";
import { bytes, counted, rate, readRate, visible } from "../format.js";
import { planTabs } from "../plan_tabs.js";
import { newReview } from "../review.js";
import { saveJson } from "../save.js";

const PAUSE_MS = 400; // between the last key and the check
const SHOWN = 1_000_000; // characters of a file that are shown to be edited
const FAULTS = 10; // wrong entries that are named
const REFUSED = 5; // refused partitions that are named
const EXAMPLE = '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [4, 5, 6]}]}';
const AT_FIRST = "The plan is checked as you enter it. Nothing moves before you start it.";

const QUESTIONS = { start: "Start the plan?", paused: "Submit the plan paused?", queue: "Queue the plan?" };
const ACTIONS = { start: "Start", paused: "Submit paused", queue: "Queue" };

function startLines(review, how, options, openJobs) {
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

class Submission {
  constructor(root, params, app) {
    this.app = app;
    this.uploaded = null; // the text of a file that is too large to be shown
    this.checking = null; // aborts the check that runs
    this.review = null; // that of the plan as it is now
    this.rollback = null;
    this.parts = newReview();
    root.append(h("h1", {}, "Plan"), planTabs("plan"), ...this.#planForm(), this.#reviewed(), this.#submitted());
    if (params.plan) {
      this.area.value = params.plan;
      this.changed();
    }
  }

  #planForm() {
    this.role = h("p", { id: "role", hidden: true });
    this.area = h("textarea", { id: "plan", rows: 8, spellcheck: "false", autocomplete: "off", "aria-describedby": "plan-state", placeholder: EXAMPLE });
    this.area.addEventListener("input", () => {
      this.uploaded = null;
      this.changed();
    });
    this.file = h("input", { id: "file", type: "file", accept: ".json,application/json", onchange: this.app.guard(() => this.upload()) });
    this.state = h("p", { id: "plan-state", role: "status" }, AT_FIRST);
    this.faults = h("ul", { id: "plan-faults", class: "bad" });
    this.planForm = h("form", { id: "plan-form", class: "card", hidden: true, onsubmit: (event) => event.preventDefault() },
      h("p", {}, h("label", { for: "plan" }, "Plan, in the format of ", h("code", {}, "kafka-reassign-partitions")), this.area),
      h("p", {}, h("label", { for: "file" }, "or a file"), " ", this.file), this.state, this.faults);
    return [this.role, this.planForm];
  }

  #reviewed() {
    const field = (label, attributes, more = {}) => h("label", more, `${label} `, h("input", { autocomplete: "off", ...attributes }));
    this.priority = field("Priority", { name: "priority", inputmode: "numeric", placeholder: "0, queued −1" }, { id: "start-priority" });
    this.buttons = h("p", { id: "start-buttons" }, h("button", { value: "start", class: "primary" }, "Start…"), h("button", { value: "paused" }, "Start paused…"), h("button", { value: "queue" }, "Queue behind other jobs…"));
    this.form = h("form", { id: "start", onsubmit: this.app.guard((event) => this.start(event)) },
      field("Throttle of this job", { name: "throttle", placeholder: "none, or such as 50MB", oninput: () => this.changed() }), this.priority, this.buttons);
    this.reviewed = h("section", { id: "review", class: "card", "aria-labelledby": "review-title", hidden: true },
      h("h2", { id: "review-title" }, "Review"), ...this.parts.summary, this.form, ...this.parts.figures);
    return this.reviewed;
  }

  #submitted() {
    this.answer = h("p", { id: "answer", role: "status" });
    this.refused = h("ul", { id: "refused" });
    this.link = h("a", { id: "job-link", href: "#/" }, "Show the job");
    const save = h("button", { type: "button", id: "save-rollback", onclick: () => saveJson(this.rollback, "present-replicas.json") }, "Save the present replicas as a plan");
    this.title = h("h2", { id: "submitted-title", tabindex: "-1" }, "Submitted");
    this.submitted = h("section", { id: "submitted", class: "card", "aria-labelledby": "submitted-title", hidden: true },
      this.title, this.answer, this.refused, h("p", {}, this.link, " ", save));
    return this.submitted;
  }

  get plan() {
    return this.uploaded ?? this.area.value;
  }

  get throttle() {
    return readRate(this.form.elements.throttle.value);
  }

  get options() {
    const text = this.form.elements.priority.value.trim();
    return { throttle: this.throttle, priority: text === "" ? null : wholeNumber(-1000, 1000)(text) };
  }

  // ---- check ------------------------------------------------------------------------------------------------------

  say(text, wrong = false, faults = []) {
    setText(this.state, faults.length ? text.replace(/, the first: .*/s, ":") : text);
    this.faults.replaceChildren(...faults.slice(0, FAULTS).map((line) => h("li", {}, line)), ...(faults.length > FAULTS ? [h("li", {}, "and others")] : []));
    setHidden(this.faults, !faults.length);
    this.state.className = wrong ? "bad" : "";
    this.area.setAttribute("aria-invalid", wrong);
  }

  // What was reviewed is out of date from the first change on.
  changed() {
    clearTimeout(this.timer);
    this.checking?.abort();
    this.review = null;
    if (this.plan.trim()) {
      this.say("Checking…");
      this.timer = setTimeout(() => this.check(), PAUSE_MS);
    } else {
      this.say(AT_FIRST);
      setHidden(this.reviewed, true);
    }
  }

  async check() {
    clearTimeout(this.timer);
    this.checking?.abort();
    this.checking = new AbortController();
    const { signal } = this.checking;
    try {
      const found = await postText(withQuery("v1/plans/review", { throttle: this.throttle }), this.plan, signal);
      if (signal.aborted) return;
      this.review = found;
      this.parts.show(found);
      this.say(`The plan with ${counted(found.partitions, "entry", "entries")} is valid. Nothing moves before you start it.`);
      setHidden(this.reviewed, false);
    } catch (error) {
      if (signal.aborted) return;
      this.say(error.message, true, error.faults);
      // Errors of the throttle leave its field on the page.
      if (error instanceof RequestError) setHidden(this.reviewed, true);
    }
  }

  async upload() {
    const [file] = this.file.files;
    if (!file) return;
    const text = await file.text();
    this.uploaded = text.length > SHOWN ? text : null;
    this.area.value = this.uploaded ? "" : text;
    this.area.placeholder = this.uploaded ? `${file.name}: ${bytes(file.size)}, not shown. Text that you enter here replaces it.` : "";
    this.changed();
  }

  // ---- start ------------------------------------------------------------------------------------------------------

  async start(event) {
    if (!this.app.mayChange) return;
    const how = event.submitter.value;
    if (!this.review) await this.check();
    if (!this.review) return;
    const options = { ...this.options, queue: how === "queue", paused: how === "paused" };
    const { jobs } = await get("v1/status");
    if (!(await ask(QUESTIONS[how], startLines(this.review, how, options, jobs.length), ACTIONS[how]))) return;
    this.showAnswer(await postText(withQuery("v1/jobs", options), this.plan));
  }

  showAnswer({ job, accepted, unchanged, refused, rollback }) {
    this.rollback = rollback;
    const rest = unchanged ? ` ${counted(unchanged, "entry", "entries")} change nothing.` : "";
    const others = refused.length ? ` ${counted(refused.length, "partition")} refused.` : "";
    setText(this.answer, (job === null ? "Nothing is to be done." : `Job ${job}: ${counted(accepted, "partition")} accepted.`) + rest + others);
    this.refused.replaceChildren(...refused.slice(0, REFUSED).map((each) => h("li", {}, visible(`${each.topic}-${each.partition}: ${each.message}`))));
    this.link.href = job === null ? "#/" : `#/jobs/${job}`;
    for (const node of [this.planForm, this.reviewed]) setHidden(node, true);
    setHidden(this.submitted, false);
    this.title.focus();
  }

  update({ client }) {
    const mayStart = this.app.mayChange;
    setText(this.role, `${client.principal} has the role ${client.role} and can review plans. To start one, the role operator is needed.`);
    setHidden(this.role, mayStart);
    for (const node of [this.priority, this.buttons]) setHidden(node, !mayStart);
    if (this.submitted.hidden) setHidden(this.planForm, false);
  }

  close() {
    clearTimeout(this.timer);
    this.checking?.abort();
  }
}

export const page = { title: () => "Plan", open: (root, params, app) => new Submission(root, params, app) };
