// The log directories before and after moves between them: a chart, and a table.
"use strict";

import { chart, chartKeys } from "./broker_figures.js";
import { Table, h } from "./dom.js";
import { rateLine, scheduledLine, spent } from "./forecast.js";
import { bytes, count, rate } from "./format.js";

const LISTED = 500; // directories in the table
const LETTERS = 50; // of a path in the chart; its end tells directories apart

const shortPath = (path) => (path.length > LETTERS ? `…${path.slice(1 - LETTERS)}` : path);

// Whether parts of its size say something: the size is known, and not much larger.
const inParts = ({ total, before, after }) => total && 100 * Math.max(before, after) >= total;

const part = (value) => `${value.toFixed(1)}\u00a0%`;

// Parts of the size, or bytes.
const measureOf = (dirs) => (dirs.every((each) => each.total) && dirs.some(inParts) ? [(each, value) => (100 * value) / each.total, part] : [(each, value) => value, bytes]);

// The directories whose use is known. The range is where the goal wants them.
export function dirCharts({ dirs }) {
  const known = dirs.filter((each) => each.before !== null && each.after !== null);
  if (!known.length) return [];
  const [value, text] = measureOf(known);
  const range = (each) => (each.least === null && each.most === null ? {} : { least: value(each, each.least ?? 0), most: value(each, each.most ?? each.total) });
  const rows = known.map((each) => ({ broker: each.broker, label: `${each.broker}: ${shortPath(each.path)}`, before: value(each, each.before), after: value(each, each.after), ...range(each) }));
  return [chartKeys(rows.some((each) => each.most !== undefined)), chart(rows, "used", text, "", "directories")];
}

function used(dir) {
  if (dir.before === null || dir.after === null) return "not known";
  const text = inParts(dir) ? (value) => part((100 * value) / dir.total) : bytes;
  return `${text(dir.before)} → ${text(dir.after)}`;
}

export function dirTable() {
  const table = new Table("dir-figures", "Log directories before and after", [
    { label: "directory", text: (each) => `${each.broker}: ${each.path}${each.cordoned ? " (cordoned)" : ""}` },
    { label: "size", number: true, text: (each) => (each.total === null ? "not known" : bytes(each.total)) },
    { label: "replicas", number: true, text: (each) => `${count(each.replicas_before)} → ${count(each.replicas_after)}` },
    { label: "used", number: true, text: used },
    { label: "gets", number: true, text: (each) => (each.gains ? `+${count(each.gains)}` : "") },
    { label: "gives", number: true, text: (each) => (each.losses ? `−${count(each.losses)}` : "") },
  ], (each) => `${each.broker}:${each.path}`);
  return {
    node: table.node,
    show({ dirs }) {
      table.show(dirs.slice(0, LISTED));
      return dirs.length > LISTED ? `The first ${LISTED} of ${count(dirs.length)} directories.` : "";
    },
  };
}

// What a proposal of such moves does, in words.
export function dirLines({ summary, moves, forecast }) {
  const words = forecast && moves
    ? [`forecast: ${spent(forecast.seconds)} at ${rate(forecast.bandwidth)} per broker, one replica after the other`, rateLine(forecast), scheduledLine(forecast)].filter(Boolean)
    : [];
  return [...summary, ...words];
}
