// A week as a strip that is edited by dragging: seven days of 24 hours. Those who do not drag use the fields below it,
// or the text of the schedule.
"use strict";

import { button } from "./build.js";
import { h, setAttribute, setText } from "./dom.js";
import { rate, readRate } from "./format.js";
import { shape } from "./svg.js";
import { DAY, DAYS, clock, emptyWeek, paint, toText } from "./week.js";

const STEP = 30; // minutes to which a drag snaps
const [LEFT, TOP, ROW, HOUR] = [40, 18, 22, 30]; // pixels
const WIDTH = LEFT + 24 * HOUR + 20;
const HEIGHT = TOP + 7 * ROW + 4;

// `onChange(text)` is called with the new text of the schedule after each change; null without hours.
export class WeekEditor {
  constructor(parent, onChange) {
    this.week = emptyWeek();
    this.zone = "UTC";
    this.onChange = onChange;
    this.editable = false;
    this.throttle = h("input", { autocomplete: "off", placeholder: "none" });
    this.drawing = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "week", role: "img" });
    this.title = shape("title", {});
    this.hours = shape("g", {});
    this.pending = shape("rect", { class: "pending", height: ROW - 4, width: 0, x: 0, y: 0 });
    this.trouble = h("p", { role: "alert", class: "bad" });
    this.drawing.append(this.title, ...grid(), this.hours, this.pending);
    this.fields = this.#newFields();
    parent.append(h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The week" }, this.drawing), this.fields, this.trouble);
    this.#listen();
  }

  show(week, zone, editable) {
    [this.week, this.zone, this.editable] = [week, zone ?? "UTC", editable];
    this.fields.hidden = !editable;
    this.drawing.classList.toggle("editable", editable);
    this.#draw();
  }

  #draw() {
    this.hours.replaceChildren(...this.week.flatMap((hours, day) => hours.map(({ from, to, throttle }) => {
      const bar = shape("rect", { class: throttle === null ? "open" : "open limited", x: LEFT + (HOUR * from) / 60, y: TOP + ROW * day + 2, width: (HOUR * (to - from)) / 60, height: ROW - 4, rx: 3 });
      bar.append(shape("title", {}, `${DAYS[day]} ${clock(from)} to ${clock(to)}${throttle === null ? "" : `, at most ${rate(throttle)}`}`));
      return bar;
    })));
    const open = this.week.flat().reduce((sum, { from, to }) => sum + to - from, 0);
    setText(this.title, open ? `Hours in which steps may start, in ${this.zone}: ${toText(this.week, "UTC")}` : "There are no hours: without a schedule, steps may start at any time.");
  }

  #listen() {
    let drag = null;
    const at = (event) => {
      const box = this.drawing.getBoundingClientRect();
      const scale = WIDTH / box.width;
      const x = ((event.clientX - box.left) * scale - LEFT) / HOUR;
      const day = Math.floor(((event.clientY - box.top) * scale - TOP) / ROW);
      return { day, minute: Math.min(DAY, Math.max(0, Math.round((60 * x) / STEP) * STEP)), inside: day >= 0 && day < 7 && x >= -0.5 };
    };
    this.drawing.addEventListener("pointerdown", (event) => {
      const from = at(event);
      // A thumb scrolls: it uses the fields.
      if (!this.editable || !from.inside || event.pointerType === "touch") return;
      event.preventDefault();
      this.drawing.setPointerCapture(event.pointerId);
      const open = this.week[from.day].some((each) => each.from <= from.minute && from.minute < each.to);
      drag = { from, to: from, closes: open };
    });
    this.drawing.addEventListener("pointermove", (event) => {
      if (!drag) return;
      drag.to = at(event);
      const [first, last] = ends(drag);
      const [top, bottom] = days(drag);
      for (const [name, value] of Object.entries({ x: LEFT + (HOUR * first) / 60, width: (HOUR * (last - first)) / 60, y: TOP + ROW * top + 2, height: ROW * (bottom - top + 1) - 4 })) setAttribute(this.pending, name, value);
      setAttribute(this.pending, "class", drag.closes ? "pending closes" : "pending");
    });
    const end = (event) => {
      if (!drag) return;
      const [first, last] = ends(drag);
      const [top, bottom] = days(drag);
      const { closes } = drag;
      drag = null;
      setAttribute(this.pending, "width", 0);
      if (event.type === "pointerup" && last > first) this.#change(DAYS.map((_, day) => day).slice(top, bottom + 1), first, last, closes);
    };
    this.drawing.addEventListener("pointerup", end);
    this.drawing.addEventListener("pointercancel", end);
  }

  #newFields() {
    const box = (name, day) => h("label", { class: "day" }, h("input", { type: "checkbox", value: day, checked: day < 5 }), ` ${name}`);
    const chosen = h("span", { role: "group", "aria-label": "Days" }, DAYS.map(box));
    const from = h("input", { type: "time", step: 60, value: "22:00", required: true });
    const to = h("input", { type: "time", step: 60, value: "06:00", required: true });
    const apply = (closes) => {
      const minutes = (text) => 60 * Number(text.slice(0, 2)) + Number(text.slice(3, 5));
      const picked = [...chosen.querySelectorAll("input:checked")].map(({ value }) => Number(value));
      if (!picked.length || !from.value || !to.value) return setText(this.trouble, "Choose at least one day, and both times.");
      const [first, last] = [minutes(from.value), minutes(to.value)];
      if (last > first) return this.#change(picked, first, last, closes);
      return this.#change(picked, first, DAY, closes, last);
    };
    return h("div", { class: "tools hours" }, chosen,
      h("label", {}, "from ", from), h("label", {}, "to ", to), h("label", {}, "throttle ", this.throttle),
      button("Open these hours", () => apply(false)), button("Close these hours", () => apply(true)));
  }

  // `night`: the minutes of the next day that belong to it.
  #change(chosen, from, to, closes, night = 0) {
    try {
      const throttle = closes ? undefined : readRate(this.throttle.value);
      setText(this.trouble, "");
      for (const day of chosen) {
        this.week = paint(this.week, day, from, to, throttle);
        this.week = paint(this.week, (day + 1) % 7, 0, night, throttle);
      }
    } catch (error) {
      setText(this.trouble, error.message);
      return;
    }
    this.#draw();
    this.onChange(toText(this.week, this.zone) || null);
  }
}

const ends = ({ from, to }) => [Math.min(from.minute, to.minute), Math.max(from.minute, to.minute)];
const days = ({ from, to }) => {
  const last = Math.min(6, Math.max(0, to.day));
  return [Math.min(from.day, last), Math.max(from.day, last)];
};

function grid() {
  const nodes = DAYS.map((name, day) => shape("text", { x: 0, y: TOP + ROW * day + 15 }, name));
  for (let day = 0; day < 7; day += 1) nodes.push(shape("rect", { class: "closed", x: LEFT, y: TOP + ROW * day + 2, width: 24 * HOUR, height: ROW - 4, rx: 3 }));
  for (let hour = 0; hour <= 24; hour += 3) {
    nodes.push(shape("text", { x: LEFT + HOUR * hour, y: 11, "text-anchor": "middle" }, clock(60 * hour)));
    nodes.push(shape("line", { class: "hour", x1: LEFT + HOUR * hour, x2: LEFT + HOUR * hour, y1: TOP, y2: HEIGHT - 4 }));
  }
  return nodes;
}
