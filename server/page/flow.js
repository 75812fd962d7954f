// Where data flows: the map of the cluster, and the same as tables.
"use strict";

import { get } from "./api.js";
import { showBasis } from "./basis.js";
import { planAddress } from "./broker_words.js";
import { Table, h, link, setAttribute, setHidden, setText } from "./dom.js";
import { bytes, count, counted, rate } from "./format.js";
import { isBetweenDirs } from "./jobs.js";
import { BUSY, ClusterMap, ICONS, diskOf, marksOf, rackName } from "./map.js";
import { DETAILED } from "./map_layout.js";
import { Reader } from "./reader.js";
import { shape } from "./svg.js";

const EVERY_MS = 3000;
const MOST = 1000; // brokers that are read
const LISTED = 100; // flows in the table,
const ROWS = 60; // and brokers: the page of brokers has all
const BRIEF = 5; // flows where the table is a part of another page
const NARROW = matchMedia("(max-width: 700px)"); // windows in which the tables are shown first

// The live broker whose disks are the fullest; where no disk is known, the one that holds the most. Null without data.
function fullest(brokers) {
  const live = brokers.filter((each) => each.live);
  const known = live.filter((each) => each.disk_total);
  const [from, share] = known.length ? [known, (each) => each.disk_used / each.disk_total] : [live, (each) => each.bytes];
  const best = from.reduce((found, each) => (found === null || share(each) > share(found) ? each : found), null);
  return best && share(best) > 0 ? best : null;
}

const SIGNS = [[BUSY, "copies data"], [ICONS.down, "offline"], [ICONS.leaving, "shutting down"], [ICONS.closed, "cordoned or excluded"]];

const older = (one, other) => (one === null || other === null ? null : Math.min(one, other));

const end = (value, by) => (by === "rack" ? (value === null ? "no rack" : rackName(value)) : `broker ${value}`);

// `query()` selects the flows, such as those of a job.
export class FlowView {
  constructor(root, app, { query = () => ({}), heading = "h2", brief = false } = {}) {
    this.app = app;
    this.query = query;
    this.brief = brief; // whether the table of brokers is left out
    this.chosen = null;
    this.data = null;
    this.summary = h("p", { class: "summary" });
    this.fullest = h("button", { type: "button", class: "fullest", hidden: true, onclick: () => this.choose(fullest(this.data.brokers)?.id ?? null) });
    this.facts = this.#newFacts();
    this.basis = h("p", { class: "basis", hidden: true });
    this.mapHost = h("div");
    this.tables = h("div", { class: "tables" });
    this.views = h("div", { class: "segments", role: "group", "aria-label": "View" }, this.#view("Map", () => this.#show(false)), this.#view("Table", () => this.#show(true)));
    root.append(h("div", { class: "row" }, this.summary, this.fullest, this.views), this.mapHost, this.#legend(), this.facts, this.tables, this.basis);
    this.map = new ClusterMap(this.mapHost, { choose: (id) => this.choose(id) });
    this.#makeTables(heading);
    this.#show(NARROW.matches);
    this.reader = new Reader(() => this.#load(), EVERY_MS);
  }

  update(now = false) {
    return this.reader.read(now);
  }

  close() {
    this.map.close();
  }

  choose(id) {
    this.chosen = id;
    this.#draw();
    return this.update(true);
  }

  #view(name, action) {
    return h("button", { type: "button", onclick: action }, name);
  }

  #show(asTable) {
    this.asTable = asTable;
    [...this.views.children].forEach((button, place) => setAttribute(button, "aria-pressed", asTable === Boolean(place)));
    setHidden(this.mapHost, asTable);
    setHidden(this.key, asTable);
    setHidden(this.tables, !asTable);
    this.#draw();
  }

  #legend() {
    const entry = (className, text) => h("li", {}, h("i", { class: `key ${className}` }), text);
    // Cells have no room for words.
    this.signs = SIGNS.map(([path, text]) => {
      const sign = shape("svg", { width: 12, height: 12, "aria-hidden": "true" });
      sign.append(shape("path", { class: "sign", d: path }));
      return h("li", {}, sign, text);
    });
    this.key = h("ul", { class: "keys" },
      entry("fine", "disk below 75 %"), entry("high", "75 % or more"), entry("full", "90 % or more"), entry("arrow", "left to copy: the wider, the more"), this.signs);
    return this.key;
  }

  #makeTables(heading) {
    this.brokers = new Table("flow-brokers", "Brokers", [
      { label: "broker", ...link((each) => `#/brokers/${each.id}`, (each) => each.id) },
      { label: "rack", text: (each) => each.rack ?? "" },
      { label: "state", text: (each) => marksOf(each).map(([, word]) => word).join(", ") || "live" },
      { label: "disk", number: true, text: diskOf },
      { label: "replicas", number: true, text: (each) => count(each.replicas) },
      { label: "leaders", number: true, text: (each) => count(each.leaders) },
      { label: "receives", number: true, text: (each) => (each.rate_in ? rate(each.rate_in) : "") },
      { label: "sends", number: true, text: (each) => (each.rate_out ? rate(each.rate_out) : "") },
    ], (each) => each.id);
    this.flows = new Table("flows", "What is left to copy, the largest first", [
      { label: "from", text: (each) => end(each.source, this.data.flows.by) },
      { label: "to", text: (each) => end(each.target, this.data.flows.by) },
      { label: "left", number: true, text: (each) => bytes(each.bytes) },
    ], (each) => `${each.source}>${each.target}`);
    this.left = h(heading, {}, "Left to copy");
    this.rest = h("p", { hidden: true }, `The first ${ROWS}. `, h("a", { href: "#/brokers" }, "All brokers"));
    this.tables.append(...(this.brief ? [] : [h(heading, {}, "Brokers"), this.brokers.node, this.rest]), this.left, this.flows.node);
  }

  async #load() {
    const chosen = this.chosen;
    const [{ brokers, basis }, flows, own] = await Promise.all([
      get("v1/brokers", { limit: MOST }),
      get("v1/flows", this.query()),
      chosen === null ? null : get("v1/flows", { ...this.query(), broker: chosen }),
    ]);
    if (chosen !== this.chosen) return;
    this.data = { brokers, basis: { ...basis, sizes_ms: older(basis.sizes_ms, flows.measured_ms) }, flows, own };
    this.#draw();
  }

  #draw() {
    if (!this.data) return;
    const { brokers, flows, own } = this.data;
    if (this.chosen !== null && !brokers.some((each) => each.id === this.chosen)) this.chosen = null;
    const racks = new Set(brokers.map((each) => each.rack)).size;
    const more = flows.other_flows ? `; ${counted(flows.other_flows, "smaller flow")} not shown` : "";
    const within = this.app.status?.jobs.some(isBetweenDirs) ? " between brokers" : ""; // What moves between directories flows nowhere.
    setText(this.summary, `${counted(brokers.length, "broker")} in ${counted(racks, "rack")}. ${flows.bytes ? `${bytes(flows.bytes)} left to copy` : `Nothing is left to copy${within}`}${more}.`);
    showBasis(this.basis, this.data.basis);
    this.#showFullest(fullest(brokers));
    if (this.asTable) {
      if (!this.brief) this.brokers.show(brokers.slice(0, ROWS));
      setHidden(this.rest, this.brief || brokers.length <= ROWS);
      this.flows.show(flows.flows.slice(0, this.brief ? BRIEF : LISTED));
      for (const node of [this.left, this.flows.node]) setHidden(node, !flows.flows.length);
    } else {
      for (const each of this.signs) setHidden(each, brokers.length <= DETAILED);
      this.map.show(brokers, flows, this.chosen);
    }
    this.#showChosen(brokers.find((each) => each.id === this.chosen), own);
  }

  // They keep their nodes: the focus may be on one of them.
  #newFacts() {
    const lines = [h("strong"), h("span"), h("span"), h("span")];
    const links = [h("a", { class: "button" }), h("a", { class: "button" }, "Drain…")];
    return h("div", { class: "chosen-broker", hidden: true }, lines, links, h("button", { type: "button", onclick: () => this.choose(null) }, "Show all flows"));
  }

  #showFullest(broker) {
    setHidden(this.fullest, !broker);
    if (broker) setText(this.fullest, `Fullest: broker ${broker.id}, ${diskOf(broker)}`);
  }

  // What the chosen broker gets and gives, with links to it.
  #showChosen(broker, own) {
    setHidden(this.facts, !broker);
    if (!broker) return;
    const gets = (own?.flows ?? []).filter((each) => each.target === broker.id);
    const gives = (own?.flows ?? []).filter((each) => each.source === broker.id);
    const list = (flows, of) => flows.slice(0, 5).map((each) => `${bytes(each.bytes)} ${of(each)}`).join(", ") + (flows.length > 5 ? ` and ${flows.length - 5} more` : "");
    const lines = [
      `${counted(broker.replicas, "replica")}, ${counted(broker.leaders, "leader")}, disk ${diskOf(broker)}.`,
      gets.length ? `Gets ${list(gets, (each) => `from broker ${each.source}`)}.` : gives.length ? "Nothing is left to copy to it." : "Nothing is left to copy to it or from it.",
      gives.length ? `Gives ${list(gives, (each) => `to broker ${each.target}`)}.` : gets.length ? "Nothing is left to copy from it." : "",
    ];
    [`Broker ${broker.id}`, ...lines].forEach((line, place) => setText(this.facts.children[place], line));
    const [open, drain] = this.facts.querySelectorAll("a");
    setAttribute(open, "href", `#/brokers/${broker.id}`);
    setText(open, `Open broker ${broker.id}`);
    setAttribute(drain, "href", planAddress({ goal: "drain", brokers: broker.id }));
    setHidden(drain, !this.app.mayChange);
  }
}
