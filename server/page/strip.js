// The heat strip of a job: its partitions in the order of their names, each cell colored by their states.
// The server joins partitions, so that a strip of 100,000 is as large as one of 240.
"use strict";

import { Cursor } from "./cursor.js";
import { h, keyed, setAttribute, setText } from "./dom.js";
import { count, counted, short } from "./format.js";
import { shape } from "./svg.js";

const GAP = 1; // pixels between cells
const ROW = 28; // height of a row of cells
const NARROWEST = 4; // pixels of a cell; there are more rows if cells would be narrower
const WIDEST = 28;

const shareOf = (state) => `share ${state.replaceAll(" ", "-")}`;

// `choose(cell)` is called when a reader picks a cell.
export class Strip {
  constructor(host, { choose }) {
    this.host = host;
    host.classList.add("strip");
    this.data = null;
    this.width = 0;
    this.drawing = shape("svg", { "aria-hidden": "true" });
    this.cells = shape("g", {});
    this.frame = shape("rect", { class: "frame", visibility: "hidden", rx: 2 });
    this.drawing.append(this.cells, this.frame);
    host.append(this.drawing);
    this.legend = h("ul", { class: "legend" });
    host.after(this.legend);
    this.pointer = 0;
    this.cursor = new Cursor(host, {
      at: (x) => this.#placeAt(x),
      x: (place) => this.#left(place) + this.cell / 2,
      size: () => this.data?.cells.length ?? 0,
      read: (place) => this.#read(place),
      moved: (place) => this.#moved(place),
      choose: (place) => choose(this.data.cells[place]),
    });
    host.addEventListener("pointermove", (event) => {
      this.pointer = event.clientY - host.getBoundingClientRect().top;
    }, true);
    this.observer = new ResizeObserver(() => this.host.clientWidth !== this.width && this.#draw());
    this.observer.observe(host);
  }

  // What it shows, for screen readers.
  name(label) {
    setAttribute(this.host, "aria-label", label);
  }

  show(data) {
    this.data = data;
    this.#draw();
    this.#legend();
    this.cursor.refresh();
  }

  close() {
    this.observer.disconnect();
  }

  #left(place) {
    return (place % this.columns) * this.cell;
  }

  #top(place) {
    return Math.floor(place / this.columns) * ROW;
  }

  // One path for each state, whatever the number of cells.
  #draw() {
    this.width = this.host.clientWidth;
    if (!this.data || !this.width) return;
    const { cells, states } = this.data;
    const rows = Math.max(1, Math.ceil((cells.length * NARROWEST) / this.width));
    this.columns = Math.max(1, Math.ceil(cells.length / rows));
    this.cell = Math.min(WIDEST, this.width / this.columns);
    setAttribute(this.drawing, "viewBox", `0 0 ${this.width} ${rows * ROW}`);
    setAttribute(this.drawing, "width", this.width);
    setAttribute(this.drawing, "height", rows * ROW);
    const drawn = states.map(() => []);
    cells.forEach(({ counts }, place) => this.#cell(counts, place, drawn));
    while (this.cells.children.length > states.length) this.cells.lastChild.remove();
    while (this.cells.children.length < states.length) this.cells.append(shape("path", {}));
    states.forEach((state, place) => {
      setAttribute(this.cells.children[place], "class", shareOf(state));
      setAttribute(this.cells.children[place], "d", drawn[place].join(""));
    });
  }

  // A cell of several states is divided by their numbers.
  #cell(counts, place, drawn) {
    const [left, width] = [this.#left(place), Math.max(1, this.cell - GAP)];
    const all = counts.reduce((sum, each) => sum + each, 0);
    let top = this.#top(place);
    counts.forEach((number, state) => {
      if (!number) return;
      const height = ((ROW - 3) * number) / all;
      drawn[state].push(`M${left.toFixed(1)} ${top.toFixed(1)}h${width.toFixed(1)}v${height.toFixed(1)}h-${width.toFixed(1)}Z`);
      top += height;
    });
  }

  #legend() {
    const { states, cells } = this.data;
    const numbers = states.map((_, place) => cells.reduce((sum, { counts }) => sum + counts[place], 0));
    keyed(this.legend, states, (state) => h("li", { class: shareOf(state) }))
      .forEach((item, place) => setText(item, `${count(numbers[place])} ${states[place]}`));
  }

  #placeAt(x) {
    if (!this.data?.cells.length || !this.cell) return null;
    const column = Math.floor(x / this.cell);
    const place = Math.floor(this.pointer / ROW) * this.columns + column;
    return column >= 0 && column < this.columns && place >= 0 && place < this.data.cells.length ? place : null;
  }

  #read(place) {
    const { cells, states, per_cell: size } = this.data;
    const { topic, partition, broker, counts } = cells[place];
    const all = counts.reduce((sum, each) => sum + each, 0);
    const first = `${short(`${topic}-${partition}`)}${broker === null ? "" : ` on broker ${broker}`}`;
    const name = size > 1 ? `${counted(all, broker === null ? "partition" : "replica")} from ${first} on` : first;
    return [name, ...states.flatMap((state, number) => (counts[number] ? [size > 1 ? `${count(counts[number])} ${state}` : state] : []))];
  }

  #moved(place) {
    setAttribute(this.frame, "visibility", place === null ? "hidden" : "visible");
    if (place === null) return;
    const box = { x: this.#left(place).toFixed(1), y: this.#top(place), width: Math.max(2, this.cell - GAP).toFixed(1), height: ROW - 3 };
    for (const [name, value] of Object.entries(box)) setAttribute(this.frame, name, value);
  }
}
