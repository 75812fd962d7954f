// The map of the cluster: a block for each rack, a tile for each broker, and arrows as wide as the bytes that are left.
// Above 60 brokers, a broker is a cell of its rack, and arrows lead from rack to rack in lists below the blocks.
"use strict";

import { percent } from "./broker_words.js";
import { keyed, setAttribute, setText } from "./dom.js";
import { bytes, count, counted, rate } from "./format.js";
import { CELL, DETAILED, arrows, labelled, layout } from "./map_layout.js";
import { shape } from "./svg.js";

const [WIDE, ROOMY] = [190, 225]; // pixels from which a tile has room for words, and for two rates
const ARROWS = 40; // that are drawn: the largest
const GAP = 3; // pixels between the bars of directories
const DIRECTORIES = 8; // up to which each one has a bar of its own
const NAMED = 150; // pixels up to which a rack in a list has no number
const LETTER = 8; // pixels
const LABELS = 12; // arrows whose bytes are written on them

// What marks a broker, the worst first: [kind, word].
export function marksOf(broker) {
  return [
    broker.state === "offline" && ["down", "offline"],
    broker.state === "offline and empty" && ["idle", "offline, empty"],
    broker.state === "shutting down" && ["leaving", "shutting down"],
    broker.cordoned && ["closed", "cordoned"],
    broker.excluded && ["closed", "excluded"],
    broker.state === "live" && broker.empty && ["idle", "empty"],
    broker.hidden && ["leaving", "hidden"],
  ].filter(Boolean);
}

// The used part of the disks, null where it is not known.
const fullness = ({ disk_total: total, disk_used: used }) => (total ? used / total : null);

// The used part of each of its log directories, the fullest first; empty where they are not known, or there is but one.
function directories({ log_dirs: dirs }) {
  const known = dirs.filter((each) => each.total);
  return known.length > 1 && known.length <= DIRECTORIES ? known.map((each) => each.used / each.total).sort((a, b) => b - a) : [];
}

const level = (part) => (part >= 0.9 ? "full" : part >= 0.75 ? "high" : "fine");

// The used part of the disks, or the bytes of the replicas where that is not known.
export function diskOf(broker) {
  const part = fullness(broker);
  if (part === null) return bytes(broker.bytes);
  return `${part < 0.01 ? bytes(broker.disk_used) : percent(broker.disk_used, broker.disk_total)} of ${bytes(broker.disk_total)}`;
}

// Many racks are called `rack-a`: these need no word before their name.
export const rackName = (name, noun = "rack") => (/^rack/i.test(name) ? name : `${noun} ${name}`);

const moves = ({ rate_in: into, rate_out: out }) => [into ? `↓\u00a0${rate(into)}` : "", out ? `↑\u00a0${rate(out)}` : ""].filter(Boolean);

// What it holds, without a 0 of leaders.
const held = ({ replicas, leaders }) => [counted(replicas, "replica"), ...(leaders ? [counted(leaders, "leader")] : [])];

function sentence(broker) {
  const states = marksOf(broker).map(([, word]) => word);
  return [
    `Broker ${broker.id}${broker.rack === null ? "" : `, ${rackName(broker.rack)}`}: ${states.join(", ") || "live"}`,
    `disk ${diskOf(broker)}`,
    directories(broker).length ? `directories ${directories(broker).map((part) => percent(part, 1)).join(", ")}` : "",
    held(broker).join(", "),
    broker.rate_in ? `receives ${rate(broker.rate_in)}` : "",
    broker.rate_out ? `sends ${rate(broker.rate_out)}` : "",
  ].filter(Boolean);
}

const DOWN = "M6 0L12 11H0Z";
export const BUSY = "M6 3.5A2.5 2.5 0 1 0 6.01 3.5Z"; // a cell that copies data
export const ICONS = { up: "M6 0A6 6 0 1 0 6.01 0Z", leaving: "M6 0A6 6 0 1 0 6.01 0ZM6 3V9A3 3 0 0 0 6 3Z", down: DOWN, idle: "M6 1A5 5 0 1 0 6.01 1Z", closed: "M2 2H10V10H2Z" };

// `choose(broker)` is called with a broker id, or null when it is chosen again.
export class ClusterMap {
  constructor(host, { choose }) {
    Object.assign(this, { host, choose, brokers: [], flows: null, chosen: null, width: 0, form: "" });
    host.classList.add("map");
    this.drawing = shape("svg", { role: "group", "aria-label": "Map of the cluster" });
    this.parts = {};
    for (const name of ["blocks", "faces", "arrows", "boxes", "labels"]) {
      this.parts[name] = shape("g", { class: name });
      this.drawing.append(this.parts[name]);
    }
    setAttribute(this.parts.arrows, "aria-hidden", "true");
    setAttribute(this.parts.labels, "aria-hidden", "true");
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.hidden = true;
    setAttribute(this.tip, "aria-hidden", "true");
    host.append(this.drawing, this.tip);
    this.boxes = new Map();
    this.drawing.addEventListener("keydown", (event) => this.#key(event));
    this.drawing.addEventListener("click", (event) => this.#click(event.target.closest("[data-broker]")));
    this.drawing.addEventListener("pointerover", (event) => this.#point(event.target.closest("[data-broker]")));
    this.drawing.addEventListener("pointerleave", () => this.#point(null));
    this.drawing.addEventListener("focusin", (event) => event.target.matches(":focus-visible") && this.#point(event.target.closest("[data-broker]")));
    this.drawing.addEventListener("focusout", () => this.#point(null));
    this.observer = new ResizeObserver(() => this.host.clientWidth !== this.width && this.#draw());
    this.observer.observe(host);
  }

  // `brokers` as of /v1/brokers, `flows` as of /v1/flows.
  show(brokers, flows, chosen) {
    Object.assign(this, { brokers, flows, chosen });
    this.#draw();
  }

  close() {
    this.observer.disconnect();
  }

  #draw() {
    this.width = this.host.clientWidth;
    if (!this.width || !this.flows) return;
    const form = `${this.width}|${this.#flowing}|${this.brokers.map(({ id, rack }) => `${id}@${rack}`).join(",")}`;
    if (form !== this.form) this.#arrange();
    this.form = form;
    const known = new Map(this.brokers.map((each) => [each.id, each]));
    // Where no broker reports the size of its disks, the bars compare what brokers hold.
    this.largest = this.brokers.every((each) => fullness(each) === null) ? Math.max(1, ...this.brokers.map((each) => each.bytes)) : Infinity;
    for (const [id, box] of this.boxes) this.#patch(box, known.get(id));
    for (const block of this.plan.blocks) this.#name(block, known);
    for (const end of this.plan.ends) this.#sum(end);
    this.#arrows();
  }

  // Flows need room: between tiles, lanes; between racks, lists of them. The server counts registered brokers only, so the unit of
  // the flows decides about the lists.
  get #flowing() {
    return this.flows.flows.length > 0 && (this.flows.by === "rack" || this.brokers.length <= DETAILED);
  }

  // Makes the blocks and boxes anew: brokers have come or gone, or the window has another width.
  #arrange() {
    const focused = document.activeElement?.dataset?.broker;
    this.plan = layout(this.brokers, this.width, this.#flowing);
    setAttribute(this.drawing, "viewBox", `0 0 ${this.width} ${Math.max(1, this.plan.height)}`);
    setAttribute(this.drawing, "width", this.width);
    setAttribute(this.drawing, "height", Math.max(1, this.plan.height));
    this.boxes.clear();
    const [blocks, boxes, faces] = [[], [], []];
    for (const block of this.plan.blocks) {
      const { x, y, width, height } = block;
      block.name = shape("text", { x: x + 14, y: y + 19, class: "name" });
      block.facts = shape("text", { x: x + 14, y: y + 35, class: "soft" });
      block.down = shape("text", { x: x + width - 14, y: y + 19, class: "missing", "text-anchor": "end" });
      blocks.push(shape("rect", { x, y, width, height, rx: 10 }), block.name, block.facts, block.down);
      for (const box of block.boxes) {
        box.node = this.plan.detailed ? tile(box) : cell(box);
        this.boxes.set(box.broker.id, box);
        box.face = shape("rect", { x: box.x, y: box.y, width: box.width, height: box.height, rx: this.plan.detailed ? 8 : 3 });
        boxes.push(box.node);
        faces.push(box.face);
      }
    }
    for (const end of this.plan.ends) blocks.push(...rackEnd(end));
    for (const { side, x, y } of [this.plan.ends[0], this.plan.ends.at(-this.plan.blocks.length)].filter(Boolean)) {
      blocks.push(shape("text", { x, y: y - 10, class: "soft" }, side === "source" ? "left to copy from" : "to"));
    }
    this.parts.blocks.replaceChildren(...blocks);
    this.parts.boxes.replaceChildren(...boxes);
    this.parts.faces.replaceChildren(...faces);
    this.order = [...this.boxes.values()];
    for (const [place, box] of this.order.entries()) setAttribute(box.node, "tabindex", place ? -1 : 0);
    if (focused !== undefined) this.boxes.get(Number(focused))?.node.focus();
  }

  // What a rack of a list sends or receives.
  #sum({ rack, side, amount, width }) {
    if (width < NAMED) return; // There is room for its name only.
    const sum = this.flows.flows.reduce((all, each) => all + ((each[side] ?? "") === rack.name ? each.bytes : 0), 0);
    setText(amount, sum ? bytes(sum) : "nothing");
  }

  #name({ rack, name, facts, down }, known) {
    const members = rack.brokers.map((each) => known.get(each.id));
    const total = members.reduce((sum, each) => sum + (each.disk_total ?? NaN), 0);
    const used = members.reduce((sum, each) => sum + (each.disk_used ?? 0), 0);
    const held = members.reduce((sum, each) => sum + each.bytes, 0);
    setText(name, blockName(rack));
    const offline = members.filter((each) => each.state === "offline").length;
    setText(facts, `${counted(members.length, "broker")} · ${total > 0 ? `disks ${percent(used, total)}` : bytes(held)}`);
    setText(down, offline ? `${count(offline)} offline` : "");
  }

  #patch(box, broker) {
    box.broker = broker;
    const [[kind] = ["up"]] = marksOf(broker);
    const pressed = this.chosen === broker.id;
    setAttribute(box.node, "class", `${this.plan.detailed ? "tile" : "cell"} ${kind}${pressed ? " chosen" : ""}`);
    setAttribute(box.face, "class", `face ${kind}`);
    setAttribute(box.node, "aria-pressed", pressed);
    setAttribute(box.node, "aria-label", sentence(broker).join(", "));
    const part = fullness(broker);
    // One full directory is as bad as a full broker.
    const bar = part === null ? { part: broker.bytes / this.largest, level: "held" } : { part, level: level(Math.max(part, ...directories(broker))) };
    if (this.plan.detailed) fillTile(box, broker, kind, bar);
    else fillCell(box, broker, kind, bar);
  }

  #arrows() {
    const byRack = this.flows.by === "rack";
    const ends = (side) => (byRack ? new Map(this.plan.ends.filter((each) => each.side === side).map((each) => [each.rack.name || null, each])) : this.boxes);
    const drawn = arrows(this.flows.flows, ends("source"), ends("target"), ARROWS, byRack ? [] : this.plan.blocks);
    const names = drawn.map(({ flow }) => `${flow.source}>${flow.target}`);
    const nodes = keyed(this.parts.arrows, names, () => {
      const node = shape("g", {});
      node.append(shape("path", { class: "way" }), shape("path", { class: "head" }));
      return node;
    });
    nodes.forEach((node, place) => {
      const { flow, width, path, head } = drawn[place];
      const faint = this.chosen !== null && !byRack && flow.source !== this.chosen && flow.target !== this.chosen;
      setAttribute(node, "class", faint ? "faint" : "flow");
      setAttribute(node.firstChild, "d", path);
      setAttribute(node.firstChild, "stroke-width", width.toFixed(1));
      setAttribute(node.lastChild, "d", head);
    });
    const named = labelled(drawn, LABELS, byRack ? this.plan.ends : this.order);
    const labels = keyed(this.parts.labels, named.map(({ flow }) => `${flow.source}>${flow.target}`), () => shape("text", { "text-anchor": "middle" }));
    labels.forEach((node, place) => {
      setAttribute(node, "x", named[place].label.x);
      setAttribute(node, "y", named[place].label.y + 4);
      setText(node, bytes(named[place].flow.bytes));
    });
  }

  #click(node) {
    if (!node) return;
    const id = Number(node.dataset.broker);
    this.#focus(this.order.findIndex((each) => each.broker.id === id));
    this.choose(this.chosen === id ? null : id);
  }

  #point(node) {
    this.tip.hidden = !node;
    if (!node) return;
    const { x, y, width, height, broker } = this.boxes.get(Number(node.dataset.broker));
    keyed(this.tip, sentence(broker), () => document.createElement("div")).forEach((line, place) => setText(line, sentence(broker)[place]));
    const left = Math.max(0, Math.min(x + width + 8, this.width - this.tip.offsetWidth));
    const above = y + height + 8 + this.tip.offsetHeight > this.plan.height;
    this.tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(above ? Math.max(0, y - this.tip.offsetHeight - 4) : y + height + 8)}px)`;
  }

  // The arrow keys go to the next box in that direction, as it is drawn.
  #key(event) {
    const node = event.target.closest("[data-broker]");
    if (!node) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.#click(node);
      return;
    }
    if (event.key === "Escape") this.#point(null);
    const here = this.boxes.get(Number(node.dataset.broker));
    const next = nearest(here, this.order, event.key);
    if (!next) return;
    event.preventDefault();
    this.#focus(this.order.indexOf(next));
  }

  #focus(place) {
    for (const [number, box] of this.order.entries()) setAttribute(box.node, "tabindex", number === place ? 0 : -1);
    this.order[place].node.focus({ preventScroll: false });
  }
}

const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

function nearest(here, boxes, key) {
  if (key === "Home") return boxes[0];
  if (key === "End") return boxes.at(-1);
  if (!WAYS[key]) return null;
  const [dx, dy] = WAYS[key];
  const far = (each) => {
    const [x, y] = [each.x - here.x, each.y - here.y];
    const along = x * dx + y * dy;
    return along <= 0 ? Infinity : along + 3 * Math.abs(x * dy + y * dx);
  };
  const best = boxes.reduce((found, each) => (far(each) < far(found) ? each : found), here);
  return best === here ? null : best;
}

const blockName = (rack) => (rack.name === "" ? "No rack" : rackName(rack.name, "Rack"));

// A rack in one of the lists between which arrows lead.
function rackEnd(end) {
  const { rack, x, y, width, height } = end;
  const middle = y + height / 2 + 4;
  end.amount = shape("text", { x: x + width - 12, y: middle, class: "soft", "text-anchor": "end" });
  const letters = Math.floor((width - (width < NAMED ? 24 : 90)) / LETTER);
  const name = blockName(rack);
  const fits = name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
  return [shape("rect", { x, y, width, height, rx: 6 }), shape("text", { x: x + 12, y: middle, class: "name" }, fits), end.amount];
}

function button(box) {
  return shape("g", { role: "button", "data-broker": box.broker.id, transform: `translate(${box.x} ${box.y})` });
}

function tile(box) {
  const node = button(box);
  const { width, height } = box;
  box.icon = shape("path", { class: "sign", transform: "translate(12 10)" });
  box.title = shape("text", { x: 30, y: 21, class: "name" }, `Broker ${box.broker.id}`);
  box.word = shape("text", { x: width - 12, y: 21, "text-anchor": "end", class: "word" });
  box.bars = shape("g", {});
  box.disk = shape("text", { x: 12, y: 58, class: "small" });
  box.held = shape("text", { x: 12, y: 75, class: "small soft" });
  box.rates = shape("text", { x: width - 12, y: 58, "text-anchor": "end", class: "small rates" });
  node.append(shape("rect", { class: "edge", width, height, rx: 8 }), box.icon, box.title, box.word, box.bars, box.disk, box.held, box.rates);
  return node;
}

function fillTile(box, broker, kind, bar) {
  const part = fullness(broker);
  setAttribute(box.icon, "d", ICONS[kind]);
  const parts = directories(broker);
  fillBars(box, parts.length ? parts.map((each) => ({ part: each, level: level(each) })) : [bar]);
  const rates = moves(broker);
  const narrow = box.width < WIDE;
  const word = marksOf(broker)[0]?.[1] ?? "";
  setText(box.word, narrow ? "" : word);
  setText(box.disk, part !== null && (narrow || rates.length) ? percent(broker.disk_used, broker.disk_total) : diskOf(broker));
  // There is room for one of them in a narrow tile.
  setText(box.rates, narrow ? word || (rates[0] ?? "") : rates.slice(0, box.width < ROOMY ? 1 : 2).join("  "));
  setText(box.held, narrow ? counted(broker.replicas, "replica") : held(broker).join(" · "));
}

// The bars share the width of the tile.
function fillBars(box, bars) {
  const each = (box.width - 24 - GAP * (bars.length - 1)) / bars.length;
  const at = { y: 36, height: 6, rx: 3 };
  keyed(box.bars, bars.map((_, place) => String(place)), () => {
    const node = shape("g", {});
    node.append(shape("rect", { ...at, class: "track" }), shape("rect", { ...at, class: "level" }));
    return node;
  }).forEach(({ children: [track, used] }, place) => {
    const x = (12 + place * (each + GAP)).toFixed(1);
    for (const node of [track, used]) setAttribute(node, "x", x);
    setAttribute(track, "width", each.toFixed(1));
    setAttribute(used, "width", Math.max(2, each * Math.min(1, bars[place].part)).toFixed(1));
    setAttribute(used, "class", `level ${bars[place].level}`);
  });
}

function cell(box) {
  const node = button(box);
  box.fill = shape("rect", { class: "level", width: CELL.size, height: CELL.size, rx: 3 });
  box.icon = shape("path", { class: "sign", transform: "translate(1 1)" });
  node.append(shape("rect", { class: "edge", width: CELL.size, height: CELL.size, rx: 3 }), box.fill, box.icon);
  return node;
}

function fillCell(box, broker, kind, bar) {
  setAttribute(box.fill, "class", `level ${bar.level}`);
  setAttribute(box.fill, "opacity", kind === "down" ? 0 : (0.15 + 0.85 * bar.part).toFixed(2));
  setAttribute(box.icon, "d", kind === "up" ? (broker.rate_in || broker.rate_out ? BUSY : "") : ICONS[kind]);
}
