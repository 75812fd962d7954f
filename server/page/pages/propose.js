// The builder of plans: choose a goal, brokers and topics; see the plan, the proof that no plan moves less, and the
// forecast; then start or queue it as a job. The address can have the goal: ?goal=drain&brokers=7&topics=orders.
"use strict";

import { RequestError, get, post, remove, withQuery } from "../api.js";
import { brokerTable, charts } from "../broker_figures.js";
import { BrokerPicker } from "../broker_picker.js";
import { facts } from "../build.js";
import { h, setHidden, setText } from "../dom.js";
import { rateLine, scheduledLine } from "../forecast.js";
import { bytes, count, counted, duration, rate, readRate, time, visible } from "../format.js";
import { planTabs } from "../plan_tabs.js";
import { saveJson } from "../save.js";
import { TopicPicker } from "../topic_picker.js";

const POLL_MS = 500;

const GOALS = [
  ["drain", "Drain brokers", "so that they can be stopped"],
  ["demote", "Take leaders away", "from brokers, for a short maintenance; no data moves"],
  ["to", "Move topics", "to brokers of your choice"],
  ["add", "Add brokers", "and even out replicas"],
  ["rf", "Replication factor", "of some topics"],
  ["balance", "Balance", "replicas and preferred leaders"],
  ["racks", "Repair racks", "after brokers got other racks"],
];

const choices = (name, options) => h("select", { name }, ...options.map(([value, text]) => h("option", { value }, text)));
const line = (goals, label, control) => h("p", { "data-for": goals }, h("label", {}, `${label} `, control));
const check = (name, label) => h("p", {}, h("label", {}, h("input", { type: "checkbox", name }), ` ${label}`));

function options() {
  return h("details", {}, h("summary", {}, "Options"),
    line(null, "Not topics that match", h("input", { name: "exclude_topics", autocomplete: "off" })),
    line("add balance", "Allowed deviation from even counts", h("input", { name: "tolerance", autocomplete: "off", placeholder: "5%" })),
    line("add balance", "Even out", choices("by", [["", "replicas, and bytes where sizes are known"], ["replicas", "replicas"], ["bytes", "bytes"], ["both", "both"]])),
    line("add balance", "Topics", choices("spread", [["", "spread where replicas move anyway"], ["topic", "spread evenly, with further moves"]])),
    line("add balance", "Fewest", choices("minimize", [["", "moves"], ["bytes", "bytes to copy (for even replicas)"]])),
    line(null, "Most replicas to move", h("input", { name: "max_moves", type: "number", min: 0 })),
    line(null, "Preferred leaders", choices("preferred_leaders", [["", "as usual"], ["balance", "even out"], ["keep", "keep"]])),
    check("fix_racks", "Also move replicas that break the rack rule"),
    check("skip_moving", "Leave out partitions that are being reassigned or queued"));
}

// The proposal in numbers, the proof first.
function numbers(figures) {
  const { forecast, moves, moves_bound: bound } = figures;
  const proof = figures.fewest_moves_proven ? "no plan moves fewer: proven" : `at least ${count(bound)} are needed`;
  const ends = forecast && moves && forecast.scheduled_seconds !== null ? `about ${time(Date.now() + 1000 * forecast.scheduled_seconds)}` : null;
  return facts([
    ["replicas to copy", moves ? `${count(moves)} (${proof})` : "none"],
    ["bytes to copy", moves ? `${bytes(figures.bytes)}${figures.fewest_bytes_proven ? " (no plan copies fewer: proven)" : ""}` : null],
    ["partitions that change", count(figures.partitions)],
    ["leaders that change", count(figures.leader_changes)],
    ["takes", forecast && moves ? duration(forecast.seconds) || "less than 1 s" : null],
    ["would end, if started now", ends],
  ]);
}

// What a proposal does, in words.
function lines(figures) {
  const { forecast } = figures;
  const words = forecast && figures.moves
    ? [`forecast: ${duration(forecast.seconds)} at ${rate(forecast.bandwidth)} per broker, under the limits in force`, rateLine(forecast), scheduledLine(forecast)].filter(Boolean)
    : [];
  const more = figures.left_out_partitions ? [`${counted(figures.left_out_partitions, "partition")} left out`] : [];
  return [...figures.summary, ...words, ...more];
}

class Builder {
  constructor(root, params, app) {
    this.app = app;
    this.brokers = new BrokerPicker();
    this.topics = new TopicPicker();
    this.first = (params.brokers ?? "").split(",").filter((each) => /^\d+$/.test(each)).map(Number); // brokers of the address
    this.brokerTable = brokerTable();
    this.shown = null; // the proposal on the page
    this.running = null; // the number of the proposal that is being computed
    root.append(h("h1", {}, "Plan"), planTabs("propose"), this.#goalForm(), this.#computing(), this.#result());
    if (GOALS.some(([goal]) => goal === params.goal)) this.form.elements.job.value = params.goal;
    if (params.topics) this.topics.expression = params.topics;
    this.showFields();
    this.load = app.guard(() => this.readBrokers());
  }

  #goalForm() {
    const goals = GOALS.map(([value, label, note], place) =>
      h("label", {}, h("input", { type: "radio", name: "job", value, checked: place === 0 }), ` ${label} `, h("small", {}, note)));
    this.propose = h("button", { id: "propose", class: "primary" }, "Propose");
    this.form = h("form", { id: "wizard", class: "card", hidden: true, onchange: () => this.showFields(), onsubmit: this.app.guard(() => this.compute("v1/proposals", this.goal())) },
      h("fieldset", { id: "jobs-of-wizard" }, h("legend", {}, "1. What is to be done?"), ...goals),
      h("fieldset", { id: "topics-of-wizard" }, h("legend", {}, "2. Which topics?", h("small", { "data-not-for": "to" }, " All of them, if you choose none.")), this.topics.node),
      h("fieldset", { id: "brokers-of-wizard", "data-for": "drain demote add to" }, h("legend", {}, "3. Which brokers?"), this.brokers.node),
      line("rf", "3. Replication factor", h("input", { name: "rf", type: "number", min: 1, max: 32767, value: 3 })),
      options(), h("p", {}, this.propose, " Nothing moves yet."));
    return this.form;
  }

  #computing() {
    this.bar = h("progress", { id: "bar", "aria-label": "Proposal" });
    this.phase = h("span", { id: "phase", role: "status" });
    const cancel = h("button", { type: "button", id: "cancel", onclick: this.app.guard(() => this.cancel()) }, "Cancel");
    this.computing = h("section", { id: "progress-of-proposal", class: "card", hidden: true }, h("p", {}, this.bar, " ", this.phase, " ", cancel));
    return this.computing;
  }

  #result() {
    [this.numbers, this.summary, this.charts, this.rest] = [h("div", { id: "plan-numbers" }), h("ul", { id: "summary" }), h("div", { id: "charts" }), h("p", { id: "rest" })];
    this.title = h("h2", { id: "result-title", tabindex: "-1" }, "Proposal");
    this.startNow = h("button", { name: "how", value: "start", id: "start-now", class: "primary" });
    const button = (id, action, label) => h("button", { type: "button", id, onclick: this.app.guard(action) }, label);
    this.start = h("form", { id: "start", onsubmit: this.app.guard((event) => this.execute(event)) },
      h("p", {}, h("label", {}, "Throttle ", h("input", { name: "throttle", autocomplete: "off", placeholder: "none, or such as 50MB" }))),
      h("p", {}, this.startNow, h("button", { name: "how", value: "queue" }, "Queue behind other jobs"),
        button("again", () => this.compute(`v1/proposals/${this.shown.id}/again`), "Propose again"),
        button("save-plan", () => this.save("plan"), "Save the plan"), button("save-rollback", () => this.save("rollback"), "Save the rollback")));
    this.started = h("p", { id: "started", role: "status" });
    this.result = h("section", { id: "result", class: "card", "aria-labelledby": "result-title", hidden: true },
      this.title, this.numbers, this.summary, this.charts, this.brokerTable.node, this.rest, this.start, this.started);
    return this.result;
  }

  // ---- choose -----------------------------------------------------------------------------------------------------

  get job() {
    return new FormData(this.form).get("job");
  }

  showFields() {
    for (const node of this.form.querySelectorAll("[data-for]")) node.hidden = !node.dataset.for.split(" ").includes(this.job);
    for (const node of this.form.querySelectorAll("[data-not-for]")) node.hidden = node.dataset.notFor === this.job;
  }

  async readBrokers() {
    await this.brokers.read(this.first);
    this.first = [];
    setHidden(this.form, false);
  }

  // The body of the request: a field that is hidden or empty is left out.
  goal() {
    const data = new FormData(this.form);
    const { job } = this;
    const { chosen } = this.brokers;
    const topics = this.topics.expression;
    const body = { drain: { drain: chosen }, demote: { demote: chosen }, to: { to: chosen }, add: { add: chosen }, rf: { rf: Number(data.get("rf")) }, balance: { balance: true }, racks: { racks: true } }[job];
    if (topics) body.topics = topics;
    for (const name of ["exclude_topics", "tolerance", "by", "spread", "minimize", "preferred_leaders"]) {
      if (data.get(name) && !this.form.elements[name].closest("[hidden]")) body[name] = data.get(name);
    }
    if (data.get("max_moves")) body.max_moves = Number(data.get("max_moves"));
    for (const name of ["fix_racks", "skip_moving"]) if (data.get(name)) body[name] = true;
    if (job === "to" && !topics) throw new RequestError(400, "Choose at least one topic.");
    if (["drain", "demote", "add", "to"].includes(job) && !chosen.length) throw new RequestError(400, "Choose at least one broker.");
    return body;
  }

  // ---- propose ----------------------------------------------------------------------------------------------------

  showProgress(proposal) {
    const { state, read_partitions: read, cluster_partitions: all, seconds } = proposal;
    this.bar.max = Math.max(all, 1);
    if (state === "computing" && read < all) this.bar.value = read;
    else this.bar.removeAttribute("value");
    setText(this.phase, state === "waiting" ? "waits for another proposal" : `${count(all)} partitions, ${Math.round(seconds)}\u00a0s`);
  }

  async ready(proposal) {
    while (proposal.state === "waiting" || proposal.state === "computing") {
      this.running = proposal.id;
      this.showProgress(proposal);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      if (this.running === null) return null;
      proposal = await get(`v1/proposals/${proposal.id}`);
    }
    if (proposal.state === "failed") throw new RequestError(422, proposal.reasons.join("; "));
    return proposal;
  }

  async compute(path, body) {
    setHidden(this.result, true);
    this.propose.disabled = true;
    setHidden(this.computing, false);
    setText(this.phase, "");
    try {
      const proposal = await this.ready(await post(path, body));
      if (proposal) this.show(proposal);
    } finally {
      this.running = null;
      this.propose.disabled = false;
      setHidden(this.computing, true);
    }
  }

  show(proposal) {
    this.shown = proposal;
    const { figures } = proposal;
    this.numbers.replaceChildren(numbers(figures));
    this.summary.replaceChildren(...lines(figures).map((text) => h("li", {}, visible(text))));
    this.charts.replaceChildren(...charts(figures));
    setText(this.rest, this.brokerTable.show(figures));
    setText(this.startNow, figures.moves ? `Start: copy ${counted(figures.moves, "replica")}` : "Start");
    setHidden(this.start, !figures.partitions || !this.app.mayChange);
    this.started.replaceChildren();
    setHidden(this.result, false);
    this.title.focus();
  }

  // ---- start ------------------------------------------------------------------------------------------------------

  async execute(event) {
    const throttle = readRate(new FormData(this.start).get("throttle"));
    const queue = event.submitter?.value === "queue";
    const { job } = await post(withQuery(`v1/proposals/${this.shown.id}/execute`, { throttle, queue }));
    setHidden(this.start, true);
    this.started.replaceChildren(h("a", { href: job === null ? "#/" : `#/jobs/${job}` }, job === null ? "Nothing is to be done." : `Job ${job} is submitted.`));
  }

  async save(name) {
    saveJson(await get(`v1/proposals/${this.shown.id}/${name}`), `${name}-${this.shown.id}.json`);
  }

  async cancel() {
    const number = this.running;
    this.running = null;
    if (number !== null) await remove(`v1/proposals/${number}`);
  }

  async update() {
    if (this.form.hidden) await this.load();
  }

  // A proposal that is computed goes on in the server; its page does not ask for it any more.
  close() {
    this.running = null;
  }
}

export const page = { title: () => "Propose a plan", open: (root, params, app) => new Builder(root, params, app) };
