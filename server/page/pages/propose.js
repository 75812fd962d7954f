// The builder of plans: choose a goal, brokers and topics; see the plan, the proof that no plan moves less, and the
// forecast; then start or queue it as a job. The address can have the goal: ?goal=drain&brokers=7&topics=orders, or
// &partitions=orders-0,orders-5, or ?goal=empty&dirs=3:/data2.
"use strict";

import { RequestError, get, post, remove, withQuery } from "../api.js";
import { brokerTable, charts } from "../broker_figures.js";
import { BrokerPicker } from "../broker_picker.js";
import { facts, nameChips } from "../build.js";
import { commandList, proposeCommand } from "../commands.js";
import { dirCharts, dirLines, dirTable } from "../dir_figures.js";
import { DirPicker, readDirs } from "../dir_picker.js";
import { h, setHidden, setText } from "../dom.js";
import { circumstanceLines, outpacedLine, rateLine, scheduledLine, spent } from "../forecast.js";
import { bytes, capital, clock, count, counted, duration, rate, rateText, readRate, visible } from "../format.js";
import { goalChoice, goalFields, inWords, isGoal, requestOf } from "../goals.js";
import { Listing } from "../listing.js";
import { partitionName } from "../partition_words.js";
import { Picks } from "../picks.js";
import { placementAction, placementLines, placementSet } from "../placement.js";
import { planTabs } from "../plan_tabs.js";
import { saveJson } from "../save.js";
import { TopicPicker } from "../topic_picker.js";
import { readUntil, untilLine } from "../until.js";

const POLL_MS = [50, 100, 200, 500]; // pauses before the server is asked again; the last one is repeated
const AT_ONCE = { wait: "false" }; // A proposal can be cancelled from its first moment on.
const PAUSE_MS = 400; // between the last key in the throttle and its forecast
const SAID = { start: "started", paused: "submitted: no step starts until it is resumed", queue: "queued" };

// A number of the plan in its unit, and whether any plan does with less; `least` is what all need, 0 where that is not said.
function proved(number, unit, verb, isProven, least) {
  const proof = isProven ? `no plan ${verb} fewer: proven` : least ? `at least ${unit(least)} are needed` : null;
  return h("span", {}, unit(number), proof && h("small", { class: isProven ? "proof" : null }, proof));
}

// How long it takes.
const times = ({ forecast, moves }) => [
  ["takes", forecast && moves ? spent(forecast.seconds) : null],
  ["would end, if started now", forecast && moves && forecast.scheduled_seconds !== null ? `about ${clock(Date.now() + 1000 * forecast.scheduled_seconds)}` : null],
];

// The proposal in numbers, the proof first.
function numbers(figures) {
  const { moves, loads } = figures;
  return facts([
    ["replicas to copy", moves ? proved(moves, count, "moves", figures.fewest_moves_proven, figures.moves_bound) : "none"],
    ["bytes to copy", moves ? proved(figures.bytes, bytes, "copies", figures.fewest_bytes_proven, loads.length ? figures.bytes_bound : 0) : null],
    ["partitions that change", count(figures.partitions)],
    ["leaders that change", count(figures.leader_changes)],
    ...times(figures),
  ]);
}

const dirNumbers = (disks) => facts([
  ["replicas to move", disks.moves ? count(disks.moves) : "none"],
  ["bytes to copy", disks.moves ? proved(disks.bytes, bytes, "as near to the goal copies", disks.fewest_bytes_proven, disks.bytes_bound) : null],
  ...times(disks),
]);

// What a proposal does, in words.
function lines(figures) {
  const { forecast } = figures;
  const words = forecast && figures.moves
    ? [`forecast: ${duration(forecast.seconds)} at ${rate(forecast.bandwidth)} per broker, under the limits in force`, rateLine(forecast), outpacedLine(forecast), scheduledLine(forecast), ...(forecast.obstacles ? circumstanceLines(forecast) : [])].filter(Boolean)
    : [];
  const more = figures.left_out_partitions ? [`${counted(figures.left_out_partitions, "partition")} left out`] : [];
  return [...figures.summary, ...words, ...more];
}

// What was done without a job. Notes are about what Kafka does not follow.
function placed(placement, notes) {
  if (!placement) return "Nothing is to be done.";
  return `${notes.length ? placementSet(placement) : capital(placementLines(placement).join("; "))}.`;
}

// The throttle as an option; a wrong one is left out until it is started, which names it.
function throttleOption(text) {
  try {
    const value = readRate(text);
    return value === null ? ["--execute"] : ["--execute", "--throttle", rateText(value)];
  } catch {
    return ["--execute"];
  }
}

// Enter in a field that searches is not the end of the form.
function searching(event) {
  if (event.key === "Enter" && event.target.type === "search") event.preventDefault();
}

class Builder {
  constructor(root, params, app) {
    this.app = app;
    this.brokers = new BrokerPicker();
    this.dirs = new DirPicker();
    this.topics = new TopicPicker();
    this.chips = nameChips("Chosen partitions", (name) => this.picks.remove(name), () => this.form.querySelector("#partitions-of-wizard summary"));
    this.picks = new Picks(params.partitions?.split(","), () => this.chips.show(this.picks.names));
    this.chips.show(this.picks.names);
    this.partitions = null; // the list of partitions, once it is open
    this.first = (params.brokers ?? "").split(",").filter((each) => /^\d+$/.test(each)).map(Number); // brokers of the address
    this.firstDirs = readDirs(params.dirs);
    this.tables = { brokers: brokerTable(), dirs: dirTable() };
    this.shown = null; // the proposal on the page,
    this.asked = null; // and the request for it
    this.closed = false;
    this.running = null; // the number of the proposal that is being computed
    this.forecasting = null; // aborts the forecast that is asked for
    root.append(h("h1", {}, "Plan"), planTabs("propose"), this.#goalForm(), this.#computing(), this.#result());
    if (isGoal(params.goal)) this.form.elements.job.value = params.goal;
    if (params.topics) this.topics.expression = params.topics;
    this.showFields();
    this.load = app.guard(() => this.readBrokers());
  }

  #goalForm() {
    this.propose = h("button", { id: "propose", class: "primary" }, "Propose");
    this.form = h("form", { id: "wizard", class: "card", hidden: true, onchange: () => this.showFields(), onkeydown: searching, onsubmit: this.app.guard(() => this.compute("v1/proposals", this.goal())) },
      goalChoice(),
      h("fieldset", { id: "topics-of-wizard" }, h("legend", {}, "2. Which topics?", h("small", { "data-not-for": "to" }, " All of them, if you choose none.")), this.chips.node, this.topics.node, this.#partitionList()),
      h("fieldset", { id: "brokers-of-wizard", "data-for": "drain demote relieve add to repair disks" },
        h("legend", {}, "3. Which brokers?", h("small", { "data-for": "repair" }, " None, or those that will come back: they keep their replicas."), h("small", { "data-for": "disks" }, " All of them, if you choose none.")), this.brokers.node),
      h("fieldset", { id: "dirs-of-wizard", "data-for": "empty" }, h("legend", {}, "3. Which directories?"), this.dirs.node),
      ...goalFields(), h("p", {}, this.propose, " Nothing moves yet."));
    return this.form;
  }

  // Single partitions, found by their topic and ticked. The list is read once it is opened.
  #partitionList() {
    return h("details", { id: "partitions-of-wizard", ontoggle: ({ target }) => this.#openPartitions(target) }, h("summary", {}, "or single partitions"));
  }

  #openPartitions(node) {
    if (!node.open) return;
    this.partitions ??= new Listing(node, this.app, {
      id: "partitions-to-choose",
      path: "v1/partitions",
      rows: "partitions",
      noun: "partition",
      caption: "Partitions to choose",
      columns: this.picks.columns,
      keyOf: partitionName,
      search: { name: "topic", label: "Find partitions by topic" },
      nested: true,
    });
    this.partitions.update();
  }

  #computing() {
    this.stop = this.app.guard(() => this.cancel());
    this.bar = h("progress", { id: "bar", "aria-label": "Proposal" });
    this.phase = h("span", { id: "phase", role: "status" });
    const cancel = h("button", { type: "button", id: "cancel", onclick: this.stop }, "Cancel");
    this.computing = h("section", { id: "progress-of-proposal", class: "card", hidden: true }, h("p", {}, this.bar, " ", this.phase, " ", cancel));
    return this.computing;
  }

  #result() {
    [this.numbers, this.summary, this.charts, this.rest] = [h("div", { id: "plan-numbers" }), h("ul", { id: "summary" }), h("div", { id: "charts" }), h("p", { id: "rest" })];
    this.title = h("h2", { id: "result-title", tabindex: "-1" }, "Proposal");
    this.startNow = h("button", { name: "how", value: "start", id: "start-now", class: "primary" });
    this.queue = h("button", { name: "how", value: "queue" }, "Queue behind other jobs");
    this.paused = h("button", { name: "how", value: "paused" }, "Start paused");
    const button = (id, action, label) => h("button", { type: "button", id, onclick: this.app.guard(action) }, label);
    this.effect = h("span", { id: "throttled", role: "status" });
    this.pacing = h("p", {}, h("label", {}, "Throttle ", h("input", { name: "throttle", autocomplete: "off", placeholder: "none, or such as 50MB" })), " ", this.effect);
    this.files = [button("save-plan", () => this.save("plan"), "Save the plan"), button("save-rollback", () => this.save("rollback"), "Save the rollback")];
    this.start = h("form", { id: "start", onsubmit: this.app.guard((event) => this.execute(event)) }, this.pacing,
      h("p", {}, this.startNow, this.paused, this.queue,
        button("again", () => this.compute(`v1/proposals/${this.shown.id}/again`), "Propose again"), ...this.files));
    this.start.elements.throttle.addEventListener("input", () => this.typed());
    this.started = h("p", { id: "started", role: "status" });
    this.commands = commandList();
    this.asCommand = h("details", { id: "as-command" }, h("summary", {}, "The same as a command"), this.commands.node);
    this.result = h("section", { id: "result", class: "card", "aria-labelledby": "result-title", hidden: true },
      this.title, this.numbers, this.summary, this.charts, this.tables.brokers.node, this.tables.dirs.node, this.rest, this.start, this.started, this.asCommand);
    return this.result;
  }

  // ---- choose -----------------------------------------------------------------------------------------------------

  get job() {
    return new FormData(this.form).get("job");
  }

  showFields() {
    for (const node of this.form.querySelectorAll("[data-for]")) setHidden(node, !node.dataset.for.split(" ").includes(this.job));
    for (const node of this.form.querySelectorAll("[data-not-for]")) setHidden(node, node.dataset.notFor === this.job);
    // What is hidden is not checked: it would hold the form back without a word.
    for (const node of this.form.querySelectorAll("fieldset[data-for]")) node.disabled = node.hidden;
  }

  async readBrokers() {
    this.dirs.show(await this.brokers.read(this.first), this.firstDirs);
    this.first = this.firstDirs = [];
    setHidden(this.form, false);
  }

  goal() {
    return requestOf(this.form, { brokers: this.brokers.chosen, dirs: this.dirs.chosen, topics: this.topics.expression, partitions: this.picks.partitions });
  }

  // ---- propose ----------------------------------------------------------------------------------------------------

  showProgress(proposal) {
    const { state, read_partitions: read, cluster_partitions: all, seconds } = proposal;
    this.bar.max = Math.max(all, 1);
    if (state === "computing" && read < all) this.bar.value = read;
    else this.bar.removeAttribute("value");
    setText(this.phase, state === "waiting" ? "waits for another proposal" : `${count(all)} partitions, ${Math.round(seconds)}\u00a0s`);
  }

  // Null where it is cancelled or the page is closed, also before its number is known.
  async ready(proposal) {
    this.running = proposal.id;
    if (this.cancelled) await this.stop(); // says itself what goes wrong
    if (this.closed) this.running = null;
    for (let asked = 0; this.running !== null && (proposal.state === "waiting" || proposal.state === "computing"); asked += 1) {
      this.showProgress(proposal);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS[asked] ?? POLL_MS.at(-1)));
      if (this.running !== null) proposal = await get(`v1/proposals/${proposal.id}`);
    }
    if (this.running === null) return null;
    if (proposal.state === "failed") throw new RequestError(422, proposal.reasons.join("; "));
    return proposal;
  }

  async compute(path, body) {
    this.#endForecast();
    setHidden(this.result, true);
    this.propose.disabled = true;
    setHidden(this.computing, false);
    setText(this.phase, "");
    if (body) this.asked = body;
    this.cancelled = false;
    try {
      const proposal = await this.ready(await post(withQuery(path, AT_ONCE), body));
      if (proposal) this.show(proposal);
    } catch (error) {
      if (this.cancelled || this.closed) return;
      error.message = inWords(this.form, error.message);
      throw error;
    } finally {
      this.running = null;
      this.propose.disabled = false;
      setHidden(this.computing, true);
    }
  }

  show(proposal) {
    this.shown = proposal;
    const { figures, disks } = proposal;
    const [drawings, table] = disks ? [dirCharts(disks), this.tables.dirs] : [charts(figures), this.tables.brokers];
    this.charts.replaceChildren(...drawings);
    setText(this.rest, table.show(disks ?? figures));
    for (const each of Object.values(this.tables)) setHidden(each.node, each !== table);
    this.showStart(proposal);
    this.started.replaceChildren();
    this.showCommand();
    this.#showForecast(figures?.forecast, "");
    if (this.throttle) this.forecast();
    setHidden(this.result, false);
    this.title.focus();
  }

  showNumbers({ figures, disks, placement }) {
    const words = [...(disks ? dirLines(disks) : lines(figures)), ...placementLines(placement).map((line) => `from the start on, ${line}`)];
    this.numbers.replaceChildren(disks ? dirNumbers(disks) : numbers(figures));
    this.summary.replaceChildren(...words.map((text) => h("li", {}, visible(capital(text)))));
  }

  // Where nothing is to be moved, there can be something to exclude: there is no job for it.
  showStart({ figures, disks, goals, placement }) {
    const { moves } = disks ?? figures;
    const changes = disks ? moves : figures.partitions;
    this.asksUntil = !moves && goals[0] === "demote" && goals.length === 2;
    const asJob = moves ? `Start: copy ${counted(moves, "replica")}` : this.asksUntil ? "Start…" : "Start";
    setText(this.startNow, !changes && placement ? placementAction(placement) : asJob);
    for (const node of [this.pacing, this.paused, ...this.files]) setHidden(node, !changes);
    setHidden(this.queue, !changes || disks || goals.includes("demote")); // Elections and moves between directories do not wait in the queue.
    setHidden(this.start, !(changes || placement) || !this.app.mayChange);
  }

  // Nothing where it does not apply.
  get throttle() {
    return this.pacing.hidden ? "" : this.start.elements.throttle.value;
  }

  typed() {
    this.showCommand();
    this.#endForecast();
    setText(this.effect, "");
    this.timer = setTimeout(() => this.forecast(), PAUSE_MS);
  }

  // Shows the forecast for the throttle of the field. That of moves between directories does not depend on it.
  async forecast() {
    this.#endForecast();
    const { shown, throttle } = this;
    if (!shown.figures?.moves) return;
    this.forecasting = new AbortController();
    const { signal } = this.forecasting;
    try {
      const value = readRate(throttle);
      const found = value === null ? shown.figures.forecast : await get(`v1/proposals/${shown.id}/review`, { throttle: value }, signal);
      if (signal.aborted) return;
      this.#showForecast(found, throttle, value === null ? "" : `Takes ${spent(found.seconds)}, at ${rate(found.bandwidth)} per broker.`);
    } catch (error) {
      if (!signal.aborted) this.#showForecast(null, throttle, error.message);
    }
  }

  #endForecast() {
    clearTimeout(this.timer);
    this.forecasting?.abort();
  }

  // `forecast` is null where there is none for this throttle.
  #showForecast(forecast, throttle, said = "") {
    const { shown } = this;
    this.forecastOf = throttle; // the text of the field
    setText(this.effect, said);
    this.showNumbers(shown.figures ? { ...shown, figures: { ...shown.figures, forecast } } : shown);
  }

  // What was proposed, with the throttle of the field; nothing where the command has no such goal.
  showCommand() {
    const command = proposeCommand(this.asked, this.start.hidden ? null : throttleOption(this.throttle));
    setHidden(this.asCommand, !command);
    this.commands.show(command ? [{ label: "Propose", command }] : []);
  }

  // ---- start ------------------------------------------------------------------------------------------------------

  async execute(event) {
    this.#endForecast();
    if (this.forecastOf !== this.throttle) this.#showForecast(null, this.throttle);
    try {
      await this.#submit(event);
    } catch (error) {
      this.forecast();
      throw error;
    }
  }

  async #submit(event) {
    const throttle = readRate(this.throttle);
    const how = event.submitter?.value ?? "start";
    const until = this.asksUntil && how !== "queue" ? await this.#askUntil() : { value: null };
    if (!until) return;
    const options = { throttle, queue: how === "queue", paused: how === "paused", until_ms: until.value };
    const { job, notes } = await post(withQuery(`v1/proposals/${this.shown.id}/execute`, options));
    setHidden(this.start, true);
    const link = h("a", { class: "button primary", href: job === null ? "#/" : `#/jobs/${job}` }, job === null ? "Show the overview" : `Show job ${job}`);
    const said = job === null ? placed(this.shown.placement, notes) : `Job ${job} is ${SAID[how]}.`;
    this.started.replaceChildren(h("strong", {}, said), link, ...notes.map((note) => h("p", {}, note)));
    link.focus(); // The button that was pressed is hidden now.
  }

  #askUntil() {
    const { figures, goals } = this.shown;
    const lines = [`${counted(figures.leader_changes, "partition")} get another preferred leader, which is elected at once. No data moves.`];
    const field = { label: "Until, such as 2h or 18:00; nothing for no end", value: "", read: readUntil, preview: (ms) => [untilLine(ms)] };
    return this.app.ask(`Demote broker ${goals[1].replaceAll(",", ", ")}?`, lines, "Start", field);
  }

  async save(name) {
    saveJson(await get(`v1/proposals/${this.shown.id}/${name}`), `${name}-${this.shown.id}.json`);
  }

  async cancel() {
    this.cancelled = true;
    const number = this.running;
    this.running = null;
    if (number !== null) await remove(`v1/proposals/${number}`);
  }

  async update() {
    if (this.form.hidden) await this.load();
    if (this.partitions) await this.partitions.update();
  }

  // A proposal that is computed goes on in the server; its page does not ask for it any more.
  close() {
    this.closed = true;
    this.running = null;
    this.#endForecast();
    this.partitions?.close();
  }
}

export const page = { title: () => "Propose a plan", open: (root, params, app) => new Builder(root, params, app) };
