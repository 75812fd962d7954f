// The brokers before and after a plan: a chart for replicas, leaders and bytes each, and a table.
"use strict";

import { Table } from "./dom.js";
import { bytes, count } from "./format.js";
import { shape } from "./svg.js";

const SHOWN = 60; // brokers in a chart: those that change most
const LISTED = 500; // brokers in the table
const ROW = 22; // height of a broker in a chart, in pixels
const LABEL = 70; // width of the labels
const WIDTH = 260; // width of the longest bar
const VALUES = 170; // width of the numbers behind the bars

const MEASURES = [["replicas", count], ["leaders", count], ["bytes", bytes]];

function chart(brokers, name, format) {
  const changed = (each) => Math.abs(each.after[name] - each.before[name]);
  const rows = [...brokers].sort((a, b) => changed(b) - changed(a)).slice(0, SHOWN).sort((a, b) => a.broker - b.broker);
  const largest = Math.max(1, ...rows.flatMap((each) => [each.before[name], each.after[name]]));
  const [width, height] = [LABEL + WIDTH + VALUES, ROW * rows.length];
  const drawing = shape("svg", { width, viewBox: `0 0 ${width} ${height}`, role: "img" });
  drawing.append(shape("title", {}, `${name} of each broker before and after`));
  rows.forEach((each, place) => {
    const top = ROW * place;
    const values = [["before", each.before[name]], ["after", each.after[name]]];
    drawing.append(shape("text", { x: 0, y: top + 14 }, `broker ${each.broker}`));
    values.forEach(([kind, value], lower) => drawing.append(shape("rect", {
      class: kind, x: LABEL, y: top + 2 + 9 * lower, height: 8, width: Math.max(1, (WIDTH * value) / largest),
    })));
    drawing.append(shape("text", { x: LABEL + WIDTH + 6, y: top + 14 }, change(name, format)(each)));
  });
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  const which = rows.length < brokers.length ? ` of the ${SHOWN} brokers that change most` : "";
  caption.textContent = `${name}${which}: gray before, blue after`;
  figure.append(caption, drawing);
  return figure;
}

export const charts = (figures) => MEASURES.map(([name, format]) => chart(figures.brokers, name, format));

const change = (name, format) => (each) => `${format(each.before[name])} → ${format(each.after[name])}`;

// The table of the brokers, with more columns. `show` returns what is not shown.
export function brokerTable(more = []) {
  const table = new Table("figures", "Brokers before and after", [
    { label: "broker", text: (each) => (each.live === false ? `${each.broker} (offline)` : each.broker) },
    { label: "rack", text: (each) => each.rack ?? "" },
    ...MEASURES.map(([name, format]) => ({ label: name, number: true, text: change(name, format) })),
    { label: "gets", number: true, text: (each) => `+${count(each.gains)}` },
    { label: "gives", number: true, text: (each) => `−${count(each.losses)}` },
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
