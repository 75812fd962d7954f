// The partitions of a job: filters, order, and pages.
"use strict";

import { showMove } from "./chips.js";
import { Pager, Table, buttons, h, named, pieces, progress, setHidden } from "./dom.js";
import { bytes, count, counted, rate, time, visible } from "./format.js";
import { isBetweenDirs, nounOf } from "./jobs.js";
import { stateWord } from "./partition_words.js";
import { Rates } from "./rates.js";

const ROWS = matchMedia("(max-width: 48rem)").matches ? 6 : 25; // a phone shows a job in a few screens
const OLD_MS = 5000; // from this age on, the time at which the partitions were read is shown

// Several replicas of a partition may change their directories.
const nameOf = (part) => `${part.topic}-${part.partition}${part.move ? ` on broker ${part.move.broker}` : ""}`;

const ONGOING = new Set(["moving", "waiting", "queued", "rolling back first"]);

const copied = progress((part) => ({
  value: part.copied ?? 0,
  total: part.bytes || null,
  text: part.bytes ? `${bytes(part.copied ?? 0)} of ${bytes(part.bytes)}` : "",
  label: `${bytes(part.copied ?? 0)} of ${bytes(part.bytes ?? 0)} copied of ${nameOf(part)}`,
}));

function partTable(app, rates) {
  const cancel = (part) => ["Cancel…", `Cancel ${nameOf(part)}`, () => app.run.cancelPartition(part)];
  return new Table("parts", "Partitions of the job", [
    { label: "partition", ...named(nameOf) },
    { label: "state", text: stateWord },
    { label: "before → after", wide: true, patch: showMove },
    { label: "copied", ...copied },
    { label: "rate", number: true, text: (part) => rate(rates.of(nameOf(part))) },
    { label: "from broker", number: true, text: (part) => (part.state === "moving" ? part.leader ?? "none" : "") },
    { label: "reason", wide: true, text: (part) => part.reason },
    { label: "action", ...buttons((part) => (app.mayChange && ONGOING.has(part.state) ? [cancel(part)] : [])) },
  ], nameOf);
}

// A path, whose lines break at slashes.
const path = (of) => ({
  patch(cell, part) {
    if (cell.textContent !== visible(of(part))) cell.replaceChildren(...pieces(of(part), "/"));
  },
});

const moveTable = (rates) => new Table("parts", "Replicas of the job", [
  { label: "replica", ...named(nameOf) },
  { label: "state", text: stateWord },
  { label: "from directory", wide: true, ...path((part) => part.move.source) },
  { label: "to directory", wide: true, ...path((part) => part.move.target) },
  { label: "copied", ...copied },
  { label: "rate", number: true, text: (part) => rate(rates.of(nameOf(part))) },
  { label: "reason", wide: true, text: (part) => part.reason },
], nameOf);

const STATES = ["moving", "waiting", "queued", "rolling back first", "done", "rolled back", "taken over", "topic deleted", "stopped"];

const option = ([value, text]) => h("option", { value }, text);

function filters(changed) {
  const states = [["", "all"], ...STATES.map((each) => [each, each])].map(option);
  const orders = ["progress", "partition", "state", "bytes"].map((each) => option([each, each]));
  const field = (label, control) => h("label", {}, label, " ", control);
  return h("form", { id: "filters", onsubmit: (event) => event.preventDefault(), oninput: changed },
    field("State", h("select", { name: "state" }, ...states)),
    field("Topic contains", h("input", { name: "topic", autocomplete: "off" })),
    field("Broker", h("input", { name: "broker", inputmode: "numeric", pattern: "[0-9]{1,9}", autocomplete: "off" })),
    field("Sort by", h("select", { name: "sort" }, ...orders)),
    h("label", {}, h("input", { type: "checkbox", name: "descending" }), " descending"));
}

// The partitions of a job: filters, a table and its pages.
export class Parts {
  constructor(app) {
    this.app = app;
    this.rates = new Rates();
    this.table = null; // once it is known of what kind the job is
    this.host = h("div");
    this.pager = new Pager("parts-pages", ROWS, app.refresh);
    this.form = filters(() => {
      this.pager.offset = 0;
      app.refresh();
    });
    this.nodes = [this.form, this.host, this.pager.node];
  }

  // Shows the partitions of a topic.
  choose(topic) {
    this.form.elements.topic.value = topic;
    this.form.dispatchEvent(new Event("input"));
  }

  get query() {
    const given = Object.fromEntries(new FormData(this.form));
    const broker = /^\s*\d{1,9}\s*$/.test(given.broker) ? given.broker.trim() : "";
    return { ...given, broker, descending: given.descending ? "true" : "", offset: this.pager.offset || "", limit: ROWS };
  }

  show({ job, matching, partitions, read_ms: read }) {
    this.rates.add(partitions, nameOf, read);
    if (!this.table) {
      this.table = isBetweenDirs(job) ? moveTable(this.rates) : partTable(this.app, this.rates);
      this.host.append(this.table.node);
    }
    this.table.show(partitions);
    const noun = nounOf(job);
    const last = this.pager.offset + partitions.length;
    const age = Date.now() - read > OLD_MS ? `, as of ${time(read)}` : "";
    const words = partitions.length
      ? `${count(this.pager.offset + 1)} to ${count(last)} of ${counted(matching, noun)}`
      : `No ${noun} matches, of ${counted(job.total, noun)}`;
    this.pager.show(words + age, last, matching);
    setHidden(this.table.node, !partitions.length);
  }
}
