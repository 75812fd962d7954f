// Charts over time: axes with round numbers and units, a cursor, and annotations. All charts of the console are made here.
"use strict";

import { Cursor } from "./cursor.js";
import { setAttribute, setText } from "./dom.js";
import { time } from "./format.js";
import { shape } from "./svg.js";
import { timeLabel, timeTicks, valueTicks } from "./ticks.js";

const TOP = 22; // room for the flags of annotations
const BOTTOM = 24; // room for the times
const RIGHT = 12;
const LANE = 20; // height of a lane of spans
const ABOVE = 6; // pixels between the plot and the lanes
const PER_LABEL = 92; // pixels for a time
const NEAR = 6; // pixels within which the cursor names an annotation

const fixed = (number) => Math.round(number * 10) / 10;

// `label` says what the chart shows, `format(value)` is its unit. Options: `height` of the plot in pixels, `left` room for values.
//
// `show({ from, until, series, marks, spans, most })` draws. Times are milliseconds since 1970.
// series: { name, kind: "area" | "line" | "dashed", tone, times, values }: a value holds from the time before it to its own; null draws nothing.
// A series of the kind "said" is not drawn; the cursor says its value by its own `format`.
// marks: { at, tone, text }, spans: { lane, from, until, tone, text }; `tone` is the name of a color in drawing.css.
export class Chart {
  constructor(host, { label, format, height = 180, left = 72 }) {
    Object.assign(this, { host, format, height, left, data: null, width: 0 });
    host.classList.add("chart");
    setAttribute(host, "aria-label", label);
    this.drawing = shape("svg", { "aria-hidden": "true" });
    this.parts = {};
    for (const name of ["grid", "spans", "series", "marks", "axis", "cursor"]) {
      this.parts[name] = shape("g", { class: name });
      this.drawing.append(this.parts[name]);
    }
    host.append(this.drawing);
    this.line = shape("line", { visibility: "hidden" });
    this.parts.cursor.append(this.line);
    this.cursor = new Cursor(host, {
      at: (x) => this.#placeAt(x),
      x: (place) => this.#x(this.data.at[place]),
      size: () => this.data?.at.length ?? 0,
      read: (place) => this.#read(place),
      moved: (place) => this.#moved(place),
    });
    this.observer = new ResizeObserver(() => this.#resized());
    this.observer.observe(host);
  }

  show({ marks = [], spans = [], most = 0, ...data }) {
    const times = data.series.flatMap((each) => each.times).filter((each) => each >= data.from && each <= data.until);
    const at = [...new Set([...times, ...marks.map((each) => each.at)])].sort((a, b) => a - b);
    const lanes = [...new Set(spans.map((each) => each.lane))];
    const drawn = data.series.filter((each) => each.kind !== "said");
    const largest = drawn.reduce((top, { values }) => values.reduce((sum, each) => Math.max(sum, each ?? 0), top), most);
    this.data = { ...data, drawn, marks, spans, lanes, at, ticks: valueTicks(largest, this.height < 120 ? 2 : 4) };
    this.#draw();
    this.cursor.refresh();
  }

  close() {
    this.observer.disconnect();
  }

  #resized() {
    if (this.host.clientWidth !== this.width) this.#draw();
  }

  #x(at) {
    const { from, until } = this.data;
    return this.left + ((this.width - this.left - RIGHT) * (at - from)) / Math.max(1, until - from);
  }

  #y(value) {
    return TOP + this.height * (1 - value / this.data.ticks.at(-1));
  }

  // The lower edge of the lanes, where the times are.
  #end() {
    const { lanes } = this.data;
    return TOP + this.height + (lanes.length ? ABOVE + lanes.length * LANE : 0);
  }

  #draw() {
    this.width = this.host.clientWidth;
    if (!this.data || !this.width) return;
    const height = this.#end() + BOTTOM;
    setAttribute(this.drawing, "viewBox", `0 0 ${this.width} ${height}`);
    setAttribute(this.drawing, "height", height);
    setAttribute(this.drawing, "width", this.width);
    this.parts.grid.replaceChildren(...this.#grid());
    this.parts.spans.replaceChildren(...this.#spans());
    this.parts.marks.replaceChildren(...this.#marks());
    this.#series();
  }

  #grid() {
    const { from, until, ticks, lanes } = this.data;
    const [right, bottom] = [this.width - RIGHT, TOP + this.height];
    const rows = ticks.flatMap((value) => [
      shape("line", { x1: this.left, x2: right, y1: fixed(this.#y(value)), y2: fixed(this.#y(value)), class: value ? "" : "base" }),
      shape("text", { x: this.left - 8, y: fixed(this.#y(value)) + 4, "text-anchor": "end" }, this.format(value)),
    ]);
    const end = this.#end();
    const { step, ticks: times } = timeTicks(from, until, Math.max(2, (right - this.left) / PER_LABEL));
    const columns = times.flatMap((at) => {
      const x = fixed(this.#x(at));
      const anchor = x > right - 24 ? "end" : "middle";
      return [
        shape("line", { x1: x, x2: x, y1: end, y2: end + 4, class: "base" }),
        shape("text", { x, y: end + 18, "text-anchor": anchor }, timeLabel(at, step)),
      ];
    });
    const names = lanes.map((lane, place) => shape("text", { x: this.left - 8, y: bottom + ABOVE + place * LANE + 13, "text-anchor": "end" }, lane));
    return [...rows, ...columns, ...names];
  }

  #spans() {
    const bottom = TOP + this.height;
    return this.data.spans.flatMap((span) => {
      const x = fixed(this.#x(Math.max(span.from, this.data.from)));
      const width = Math.max(3, fixed(this.#x(Math.min(span.until, this.data.until)) - x));
      const y = bottom + ABOVE + this.data.lanes.indexOf(span.lane) * LANE + 3;
      return [
        shape("rect", { class: `shade ${span.tone}`, x, y: TOP, width, height: this.height }),
        shape("rect", { class: `span ${span.tone}`, x, y, width, height: LANE - 8, rx: 3 }),
      ];
    });
  }

  #marks() {
    return this.data.marks.flatMap(({ at, tone }) => {
      const x = fixed(this.#x(at));
      return [
        shape("line", { class: tone, x1: x, x2: x, y1: TOP - 6, y2: TOP + this.height }),
        shape("path", { class: `flag ${tone}`, d: `M${x - 5} ${TOP - 16}h10v6l-5 6l-5 -6Z` }),
      ];
    });
  }

  // One path for each series, whatever the number of its points.
  #series() {
    const series = this.data.drawn;
    const paths = this.parts.series;
    while (paths.children.length > series.length) paths.lastChild.remove();
    while (paths.children.length < series.length) paths.append(shape("path", {}));
    series.forEach((each, place) => {
      const path = paths.children[place];
      setAttribute(path, "class", `${each.kind} ${each.tone}`);
      setAttribute(path, "d", each.kind === "area" ? this.#area(each) : this.#line(each));
    });
  }

  // Runs of known values, as [left, right, y] in pixels.
  * #runs({ times, values }) {
    let before = this.data.from;
    for (const [place, at] of times.entries()) {
      const value = values[place];
      if (value !== null && at > this.data.from) yield [fixed(this.#x(Math.max(before, this.data.from))), fixed(this.#x(at)), fixed(this.#y(value))];
      before = at;
    }
  }

  #area(series) {
    const bottom = TOP + this.height;
    return [...this.#runs(series)].map(([left, right, y]) => `M${left} ${bottom}V${y}H${right}V${bottom}Z`).join("");
  }

  #line(series) {
    let last = null;
    return [...this.#runs(series)].map(([left, right, y]) => {
      const start = last !== null && Math.abs(left - last) < 1 ? `V${y}` : `M${left} ${y}`;
      last = right;
      return `${start}H${right}`;
    }).join("");
  }

  #placeAt(x) {
    if (!this.data?.at.length || x < this.left - NEAR || x > this.width) return null;
    const { at } = this.data;
    let [low, high] = [0, at.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#x(at[middle]) < x) low = middle + 1;
      else high = middle;
    }
    return low && x - this.#x(at[low - 1]) < this.#x(at[low]) - x ? low - 1 : low;
  }

  #read(place) {
    const { at, series, marks, spans } = this.data;
    const now = at[place];
    const values = series.flatMap(({ name, times, values: all, format = this.format }) => {
      const found = times.findIndex((each) => each >= now);
      return found < 0 || all[found] === null ? [] : [`${name} ${format(all[found])}`];
    });
    const near = marks.filter((each) => Math.abs(this.#x(each.at) - this.#x(now)) <= NEAR).map((each) => each.text);
    const during = spans.filter((each) => each.from <= now && now <= each.until).map((each) => each.text);
    return [time(now), ...values, ...near, ...during];
  }

  #moved(place) {
    setAttribute(this.line, "visibility", place === null ? "hidden" : "visible");
    if (place === null) return;
    const x = fixed(this.#x(this.data.at[place]));
    for (const [name, value] of [["x1", x], ["x2", x], ["y1", TOP - 6], ["y2", TOP + this.height]]) setAttribute(this.line, name, value);
  }
}

// The names of the series with their colors, under or over a chart.
export function legend(series) {
  const list = document.createElement("ul");
  list.className = "keys";
  for (const { name, kind, tone } of series) {
    const item = document.createElement("li");
    const key = shape("svg", { width: 16, height: 10, "aria-hidden": "true" });
    key.append(kind === "area" ? shape("rect", { class: `area ${tone}`, y: 1, width: 16, height: 8, rx: 2 }) : shape("path", { class: `${kind} ${tone}`, d: "M0 5H16" }));
    const text = document.createElement("span");
    setText(text, name);
    item.append(key, text);
    list.append(item);
  }
  return list;
}
