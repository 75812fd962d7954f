// Pace: the latency of produces by broker against its target, now and in the last half hour, and what pace does about it.
"use strict";

import { get } from "./api.js";
import { Table, h, keyed, section, setAttribute, setHidden, setText } from "./dom.js";
import { rate } from "./format.js";
import { shape } from "./svg.js";

const HALF_HOUR_MS = 1_800_000;
const EVERY_MS = 5_000;
const SHOWN = 12; // brokers with a drawing: those with the highest latencies
const [WIDTH, HEIGHT] = [300, 56];

const known = { samples: [], due: 0 };

const ms = (value) => (value === null || value === undefined ? "unknown" : `${value.toFixed(1)}\u00a0ms`);

const newTable = () => new Table("pace-brokers", "Latency of produces by broker, and what pace does about it", [
  { label: "broker", number: true, text: (row) => String(row.id) },
  { label: "latency", number: true, text: (row) => ms(row.latency_ms) },
  { label: "target", number: true, text: (row) => ms(row.target_ms) },
  { label: "may move", number: true, text: (row) => (row.effort === null ? "any" : String(row.effort)) },
  { label: "throttle", number: true, text: (row) => (row.throttle === null ? "none" : rate(row.throttle)) },
  { label: "what it does", wide: true, text: (row) => `${row.activity}: ${row.reason}` },
], (row) => row.id);

// The section of pace. `update` shows the state from the status; it reads the samples that are not known yet, not more
// often than EVERY_MS.
export function newPace() {
  const [now, problem, drawings] = [h("p", { id: "pace-now" }), h("p", { id: "pace-problem", class: "bad" }), h("div", { id: "pace" })];
  const table = newTable();
  const node = section("pace", "Pace", now, problem, drawings, table.node);
  return {
    node,
    async update(pace) {
      setHidden(node, pace.mode === "off");
      if (pace.mode === "off") return;
      await readSamples();
      const comparing = pace.comparing ? " Little moves at present, to measure the latency without the move." : "";
      setText(now, `Produces take at most ${pace.target}, measured by ${pace.source}.${comparing}`);
      setText(problem, pace.problem ?? "");
      setHidden(problem, !pace.problem);
      table.show(pace.brokers);
      drawAll(drawings, pace.brokers);
    },
  };
}

async function readSamples() {
  if (performance.now() < known.due) return;
  const { samples } = await get("v1/pace", { since: known.samples.at(-1)?.time_ms ?? "" });
  known.due = performance.now() + EVERY_MS;
  known.samples.push(...samples);
  const oldest = (known.samples.at(-1)?.time_ms ?? 0) - HALF_HOUR_MS;
  known.samples = known.samples.filter(({ time_ms: at }) => at > oldest);
}

function drawAll(parent, brokers) {
  const slowest = [...brokers].sort((a, b) => (b.latency_ms ?? 0) - (a.latency_ms ?? 0)).slice(0, SHOWN).sort((a, b) => a.id - b.id);
  const figures = keyed(parent, slowest.map(({ id }) => String(id)), newFigure);
  figures.forEach((figure, place) => draw(figure, slowest[place]));
}

function newFigure() {
  const drawing = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
  drawing.append(shape("title", {}), ...["sent", "throttle"].map((name) => shape("path", { class: name })));
  const figure = document.createElement("figure");
  figure.append(document.createElement("figcaption"), drawing);
  return figure;
}

function draw(figure, { id, latency_ms: latency, target_ms: target }) {
  const rows = known.samples.map((sample) => [sample, sample.brokers.indexOf(id)]).filter(([, place]) => place >= 0);
  const of = (name) => rows.map(([sample, place]) => [sample.time_ms, sample[name][place]]).filter(([, value]) => value !== null);
  const [latencies, targets] = [of("latencies_ms"), of("targets_ms")];
  const scale = Math.max(1, ...[...latencies, ...targets].map(([, value]) => value));
  const now = `broker ${id}: ${ms(latency)}, target ${ms(target)}`;
  setText(figure.firstChild, now);
  const [title, ...paths] = figure.lastChild.children;
  setText(title, `${now}; at most ${ms(scale)} in the last half hour. Line: latency. Dashes: target.`);
  [latencies, targets].forEach((points, place) => setAttribute(paths[place], "d", line(points, scale)));
}

function line(points, scale) {
  const [first, last] = [known.samples[0]?.time_ms ?? 0, known.samples.at(-1)?.time_ms ?? 1];
  const x = (at) => ((WIDTH * (at - first)) / Math.max(1, last - first)).toFixed(1);
  const y = (value) => (HEIGHT - ((HEIGHT - 2) * value) / scale).toFixed(1);
  return points.map(([at, value], place) => `${place ? "L" : "M"}${x(at)} ${y(value)}`).join("");
}
