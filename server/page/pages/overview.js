// The overview: the state of the cluster, the jobs, the reasons of what does not move, and the brokers that receive data.
"use strict";

import { RequestError, get } from "../api.js";
import { Table, h, keyed, progress, section, setAttribute, setHidden, setLinked, setText, shortened } from "../dom.js";
import { FlowView } from "../flow.js";
import { bytes, clock, count, counted, duration, rate, time } from "../format.js";
import { problemLines } from "../health.js";
import { JobCard } from "../job_card.js";
import { jobTable, noJobs } from "../jobs.js";
import { newLogPanel } from "../log_panel.js";
import { reasonTable } from "../reasons.js";
import { newThroughput } from "../throughput.js";

const NAMED = 3; // brokers with a throttle of others that are named
const JOBS = 25; // newest jobs of which
const ENDED = 5; // so many that have ended are listed
const RECEIVING = 12; // brokers that receive data, of which more are shown on request: then those with the most left come first
const PAUSES = 20; // entries of the audit log in which the pause of everything is looked for

// `pauses` are the newest entries of the audit log about pauses; that of everything has no job.
function pauseLine(pauses) {
  const entry = pauses.find((each) => each.job === null);
  const since = entry ? ` since ${time(entry.time_ms)}, by ${entry.principal}` : "";
  return `Everything is paused${since}: steps in flight finish, no others start.`;
}

// The throttles that reassignd has not set, the lowest first: each one with its brokers, or of many the lowest.
function othersThrottles(levels) {
  const all = levels.reduce((sum, { brokers }) => sum + brokers.length, 0);
  if (levels.length === 1 || all <= NAMED) return levels.map(othersThrottle).join("; ");
  return `${counted(all, "broker")}, lowest ${othersThrottle(levels[0])}`;
}

function othersThrottle({ bytes_per_second: each, brokers }) {
  const where = brokers.length > NAMED ? counted(brokers.length, "broker") : `broker${brokers.length > 1 ? "s" : ""} ${brokers.join(", ")}`;
  return `${rate(each)} at ${where}`;
}

// A number that is 0 is not shown.
const counts = (name, number, bad = false) => (number ? [[name, count(number), bad]] : []);

function numbers({ brokers, partitions, reassignments: moves, throttle, incoming }) {
  const all = incoming.reduce((sum, each) => sum + left(each), 0);
  return [
    ...counts("moving", moves.moving - moves.stalled),
    ...counts("stalled", moves.stalled, true),
    ...counts("queued", moves.queued),
    ...counts("waiting", moves.waiting),
    ...counts("moved by others", moves.others),
    ...(all ? [["left to copy", bytes(all)]] : []),
    ...(throttle.bytes_per_second === null ? [] : [["throttle", rate(throttle.bytes_per_second)]]),
    ...(throttle.unlisted ? [["not throttled", `${counted(throttle.unlisted, "replica")}: full lists`, true]] : []),
    ...(throttle.set_by_others.length ? [["throttle of others", othersThrottles(throttle.set_by_others)]] : []),
    ["brokers", `${count(brokers.live)} of ${count(brokers.registered)}`, brokers.offline.length > brokers.idle.length],
    ["partitions", count(partitions.total)],
    ...counts("without a leader", partitions.offline, true),
    ...counts("under-replicated", partitions.under_replicated, true),
    ...counts("under min ISR", partitions.under_min_isr, true),
  ];
}

function showNumbers(parent, status) {
  const wanted = numbers(status);
  const make = () => h("div", {}, h("dt"), h("dd"));
  keyed(parent, wanted.map(([name]) => name), make).forEach((box, place) => {
    const [name, text, bad] = wanted[place];
    setText(box.firstChild, name);
    setText(box.lastChild, text);
    box.lastChild.classList.toggle("bad", Boolean(bad));
  });
}

// Jobs that are rolled back by themselves, such as that of a demoted broker.
function showRestores(parent, restores) {
  const nodes = keyed(parent, restores.map(({ job }) => String(job)), (job) => h("li", {}, h("a", { href: `#/jobs/${job}` }, `Job ${job}`), h("span")));
  nodes.forEach((node, place) => setText(node.lastChild, ` will be rolled back at ${clock(restores[place].until_ms)}: ${counted(restores[place].partitions, "partition")}.`));
  setHidden(parent, !restores.length);
}

function incomingTable() {
  const copied = progress((each) => ({
    value: each.bytes,
    total: each.total,
    text: `${bytes(each.bytes)} of ${bytes(each.total)}`,
    label: `${bytes(each.bytes)} of ${bytes(each.total)} copied to broker ${each.broker}`,
  }));
  return shortened(new Table("incoming", "Data of the jobs that have not ended, by the broker that receives it", [
    { label: "broker", text: (each) => each.broker },
    { label: "copied", ...copied },
    { label: "rate", number: true, text: (each) => rate(each.rate) },
    { label: "time left", number: true, text: (each) => (each.bytes < each.total ? duration(each.seconds_left) || "not known" : "") },
  ], (each) => each.broker), RECEIVING, "brokers");
}

const left = (each) => each.total - each.bytes;

// In ZooKeeper mode the audit log is optional.
function noLog(error) {
  if (error instanceof RequestError && error.status === 409) return { entries: [] };
  throw error;
}

class Overview {
  constructor(root, app) {
    this.app = app;
    this.pauses = null;
    [this.jobs, this.none, this.throughput, this.incoming] = [jobTable(app), noJobs(), newThroughput(), incomingTable()];
    this.log = newLogPanel(app.log);
    this.cards = new Map(); // by the number of the job, those of the open jobs
    this.running = h("div", { id: "running" });
    this.reasons = reasonTable("reasons", "Reasons, the most frequent first");
    this.problems = h("ul", { id: "problems", hidden: true });
    this.paused = h("p", { id: "paused", hidden: true });
    this.restores = h("ul", { id: "restores", hidden: true });
    this.numbers = h("dl", { id: "numbers" });
    this.pauseAll = h("button", { id: "pause-all", type: "button", onclick: () => app.run.pauseAll() });
    this.reasonsSection = section("reasons", "Why partitions do not move", this.reasons.node);
    this.incomingSection = section("incoming", "Data copied to brokers", this.incoming.node);
    this.flow = section("flow", "Where data flows");
    this.flows = new FlowView(this.flow, app, { heading: "h3", brief: true });
    this.ended = section("ended", "Jobs that have ended", this.jobs.node, h("p", {}, h("a", { href: "#/jobs" }, "All jobs")));
    root.append(h("div", { class: "page-head" }, h("h1", {}, "Overview"), this.pauseAll), this.problems, this.paused, this.restores, this.running, this.none, this.flow, this.reasonsSection,
      h("section", { class: "card", "aria-label": "Numbers" }, this.numbers), this.throughput.node, this.incomingSection, this.log.node, this.ended);
  }

  // The entries about a pause do not change while it lasts, so they are read once.
  async readPauses(paused) {
    if (!paused) this.pauses = null;
    else this.pauses ??= (await get("v1/audit", { action: "pause", limit: PAUSES }).catch(noLog)).entries;
    return this.pauses ?? [];
  }

  showOpenJobs({ jobs, reasons }) {
    const newest = [...jobs].reverse();
    const made = (number) => {
      this.cards.set(number, new JobCard(this.app));
      return this.cards.get(number).node;
    };
    const nodes = keyed(this.running, newest.map(({ id }) => String(id)), made);
    for (const [place, node] of nodes.entries()) this.cards.get(node.dataset.key).update(newest[place], jobs.length === 1 ? reasons : []);
  }

  async update({ status }) {
    const [pauses, { jobs, total }] = await Promise.all([this.readPauses(status.paused), get("v1/jobs", { limit: JOBS }), this.throughput.update(), this.flows.update()]);
    const lines = problemLines(status);
    keyed(this.problems, lines, () => h("li")).forEach((node, place) => setLinked(node, lines[place]));
    setHidden(this.problems, !lines.length);
    setText(this.paused, status.paused ? pauseLine(pauses) : "");
    setHidden(this.paused, !status.paused);
    showRestores(this.restores, status.restores);
    showNumbers(this.numbers, status);
    setText(this.pauseAll, status.paused ? "Resume everything" : "Pause everything…");
    setAttribute(this.pauseAll, "aria-label", status.paused ? "Resume everything" : "Pause everything");
    setHidden(this.pauseAll, !this.app.mayChange);
    this.showOpenJobs(status);
    const ended = jobs.filter((job) => job.ended_ms).slice(0, ENDED);
    this.jobs.show(ended);
    setHidden(this.ended, !ended.length);
    setHidden(this.none, total > 0);
    this.log.update();
    this.reasons.show(status.reasons, status.other_reasons);
    this.incoming.show(status.incoming.length > RECEIVING ? [...status.incoming].sort((a, b) => left(b) - left(a)) : status.incoming);
    setHidden(this.reasonsSection, !status.reasons.length);
    setHidden(this.incomingSection, !status.incoming.length);
  }

  close() {
    this.flows.close();
    this.throughput.close();
  }
}

export const page = { title: () => "Overview", open: (root, _params, app) => new Overview(root, app) };
