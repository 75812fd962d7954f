// The brokers before and after a plan: a chart for replicas, leaders, bytes and each load that the goal names, and a table.
"use strict";

import { Table, h } from "./dom.js";
import { bytes, capital, count, rate } from "./format.js";
import { shape } from "./svg.js";

const SHOWN = 60; // brokers in a chart: those that change most
const LISTED = 500; // brokers in the table
const ROW = 22; // height of a broker in a chart, in pixels
const LABEL = 70; // width of the names of brokers
const LINE = 16; // height of the label of a row, which is above its bars
const WIDTH = 260; // width of the longest bar
const VALUES = 170; // width of the numbers behind the bars

const MEASURES = [["replicas", count], ["leaders", count], ["bytes", bytes]];

// Rows have a broker and its values before and after; of a load also the range that it should be in, `least` and `most`, and
// the `reason` why it is not. Brokers with a reason are shown in any case. A row may be another thing than a broker, with a `label`.
export function chart(all, name, format, note = "", noun = "brokers") {
  const changed = (each) => (each.reason ? Number.MAX_VALUE : Math.abs(each.after - each.before));
  const rows = [...all].sort((a, b) => changed(b) - changed(a)).slice(0, SHOWN).sort((a, b) => a.broker - b.broker);
  const largest = Math.max(1, ...rows.flatMap((each) => [each.before, each.after]));
  const [left, line] = rows.some((each) => each.label) ? [0, LINE] : [LABEL, 0];
  const [width, height] = [left + WIDTH + VALUES, (ROW + line) * rows.length];
  const length = (value) => (WIDTH * Math.min(value, largest)) / largest;
  const drawing = shape("svg", { width, viewBox: `0 0 ${width} ${height}`, role: "img" });
  drawing.append(shape("title", {}, `${name} of the ${noun} before and after`));
  rows.forEach((each, place) => {
    const top = (ROW + line) * place + line;
    const values = [["before", each.before], ["after", each.after]];
    if (each.most !== undefined) drawing.append(shape("rect", { class: "range", x: left + length(each.least), y: top, height: ROW - 1, width: Math.max(1, length(each.most) - length(each.least)) }));
    drawing.append(shape("text", { x: 0, y: line ? top - 3 : top + 14 }, each.label ?? `broker ${each.broker}`));
    values.forEach(([kind, value], lower) => drawing.append(shape("rect", {
      class: kind, x: left, y: top + 2 + 9 * lower, height: 8, width: Math.max(1, length(value)),
    })));
    const outside = each.reason ? ", outside" : "";
    drawing.append(shape("text", { x: left + WIDTH + 6, y: top + 14 }, `${format(each.before)} → ${format(each.after)}${outside}`));
  });
  const which = rows.length < all.length ? ` of the ${SHOWN} ${noun} that change most` : "";
  const reasons = rows.filter((each) => each.reason).map((each) => h("li", {}, `broker ${each.broker}: ${each.reason}`));
  return h("figure", {}, h("figcaption", {}, h("strong", {}, `${capital(name)}${which}`), note && ` ${note}`), drawing, reasons.length ? h("ul", {}, ...reasons) : null);
}

const RATES = ["in", "out", "leaders-in", "cpu"];

// A load that is evened out, with the largest part of a fair share that a broker carries.
function loadChart({ load, brokers, highest, wanted }) {
  const note = `the fullest has ${highest.before.toFixed(2)}, then ${highest.after.toFixed(2)} of its fair share (${wanted.toFixed(2)} at most)`;
  return chart(brokers, load, load === "replicas" ? count : RATES.includes(load) ? rate : bytes, note);
}

const measured = ([name, format], brokers) =>
  chart(brokers.map(({ broker, before, after }) => ({ broker, before: before[name], after: after[name] })), name, format);

// Which bar is which.
export function chartKeys(ranged) {
  const key = (name, text = name) => h("li", {}, h("i", { class: `key ${name}` }), text);
  return h("ul", { class: "keys" }, key("before"), key("after"), ranged ? key("range", "wanted range") : null);
}

// The charts, and which bar is which.
export const charts = ({ brokers, loads = [] }) => {
  const named = loads.map((each) => each.load);
  return [chartKeys(loads.length), ...loads.map(loadChart), ...MEASURES.filter(([name]) => !named.includes(name)).map((each) => measured(each, brokers))];
};

const change = (name, format) => (each) => `${format(each.before[name])} → ${format(each.after[name])}`;

// The table of the brokers, with more columns. `show` returns what is not shown.
export function brokerTable(more = []) {
  const table = new Table("figures", "Brokers before and after", [
    { label: "broker", text: (each) => (each.live === false ? `${each.broker} (offline)` : each.broker) },
    { label: "rack", text: (each) => each.rack ?? "" },
    ...MEASURES.map(([name, format]) => ({ label: name, number: true, text: change(name, format) })),
    { label: "gets", number: true, text: (each) => (each.gains ? `+${count(each.gains)}` : "") },
    { label: "gives", number: true, text: (each) => (each.losses ? `−${count(each.losses)}` : "") },
    ...more,
  ], (each) => each.broker);
  return {
    node: table.node,
    show({ brokers }) {
      table.show(brokers.slice(0, LISTED));
      return brokers.length > LISTED ? `The first ${LISTED} of ${count(brokers.length)} brokers.` : "";
    },
  };
}
