// The throughput of the last hour: a drawing for each broker, with what it received and sent, against the throttle.
"use strict";

import { get } from "./api.js";
import { h, keyed, section, setAttribute, setHidden, setText } from "./dom.js";
import { count, rate, time } from "./format.js";
import { shape } from "./svg.js";

const HOUR_MS = 3_600_000;
const EVERY_MS = 10_000;
const SHOWN = 12; // brokers: those that copied most
const [WIDTH, HEIGHT] = [300, 56];

const known = { times: [], throttles: [], brokers: new Map(), sampleMs: 0 };
let due = 0;

// The section of the throughput. `update` reads the samples that are not known yet, not more often than EVERY_MS.
export function newThroughput() {
  const [legend, drawings] = [h("p", { id: "throughput-scale" }), h("div", { id: "throughput" })];
  const node = section("throughput", "Throughput in the last hour", legend, drawings);
  node.hidden = true;
  return {
    node,
    async update() {
      if (performance.now() >= due) {
        const answer = await get("v1/throughput", { since: known.times.at(-1) ?? "" });
        due = performance.now() + EVERY_MS;
        add(answer);
      }
      show(node, legend, drawings);
    },
  };
}

function add({ sample_ms: sampleMs, times, throttles, brokers }) {
  const before = known.times.length;
  known.sampleMs = sampleMs;
  known.times.push(...times);
  known.throttles.push(...throttles);
  for (const { id, incoming, outgoing } of brokers) {
    if (!known.brokers.has(id)) known.brokers.set(id, { id, incoming: Array(before).fill(0), outgoing: Array(before).fill(0) });
    known.brokers.get(id).incoming.push(...incoming);
    known.brokers.get(id).outgoing.push(...outgoing);
  }
  const old = known.times.findIndex((each) => each > known.times.at(-1) - HOUR_MS);
  for (const { incoming, outgoing } of known.brokers.values()) {
    for (const rates of [incoming, outgoing]) {
      // A broker that is not listed any more copies nothing.
      while (rates.length < known.times.length) rates.push(0);
      rates.splice(0, old);
    }
  }
  known.times.splice(0, old);
  known.throttles.splice(0, old);
}

// A rate is unknown while the size of a replica on its way is.
const shown = (number) => (number === null ? "unknown" : rate(number ?? 0));

const most = (rates) => rates.reduce((largest, each) => Math.max(largest, each ?? 0), 0);
const sum = ({ incoming, outgoing }) => [...incoming, ...outgoing].reduce((total, each) => total + (each ?? 0), 0);

function show(node, legend, drawings) {
  const active = [...known.brokers.values()].filter((each) => sum(each) > 0);
  const shown = active.sort((a, b) => sum(b) - sum(a)).slice(0, SHOWN).sort((a, b) => a.id - b.id);
  setHidden(node, !shown.length);
  if (!shown.length) return;
  const scale = Math.max(1, most(known.throttles), ...shown.map((each) => Math.max(most(each.incoming), most(each.outgoing))));
  const figures = keyed(drawings, shown.map((each) => String(each.id)), newFigure);
  figures.forEach((figure, place) => draw(figure, shown[place], scale));
  const which = active.length > SHOWN ? `The ${SHOWN} of ${count(active.length)} brokers that copied most. ` : "";
  setText(legend, `${which}Blue: received. Line: sent. Red dashes: the throttle. Full height: ${rate(scale)}; from ${time(known.times[0])} to ${time(known.times.at(-1))}.`);
}

function newFigure() {
  const drawing = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
  drawing.append(shape("title", {}), ...["received", "sent", "throttle"].map((name) => shape("path", { class: name })));
  const figure = document.createElement("figure");
  figure.append(document.createElement("figcaption"), drawing);
  return figure;
}

function draw(figure, { id, incoming, outgoing }, scale) {
  const now = `broker ${id}: ${shown(incoming.at(-1))} in, ${shown(outgoing.at(-1))} out`;
  setText(figure.firstChild, now);
  const [title, ...paths] = figure.lastChild.children;
  setText(title, `${now}; at most ${rate(most(incoming))} in and ${rate(most(outgoing))} out in the last hour`);
  [area(incoming, scale), line(outgoing, scale), line(known.throttles, scale)]
    .forEach((drawn, place) => setAttribute(paths[place], "d", drawn));
}

// Runs of known rates, as [start, end, rate] in pixels.
function* steps(rates, scale) {
  const [end, first] = [known.times.at(-1), known.times[0] - known.sampleMs];
  const span = Math.max(1, Math.min(HOUR_MS, end - first));
  const x = (ms) => Math.max(0, WIDTH * (1 - (end - ms) / span));
  for (const [place, value] of rates.entries()) {
    if (value === null) continue;
    yield [x(known.times[place] - known.sampleMs), x(known.times[place]), HEIGHT - ((HEIGHT - 2) * value) / scale];
  }
}

const fixed = (number) => number.toFixed(1);

const area = (rates, scale) => [...steps(rates, scale)]
  .map(([left, right, y]) => `M${fixed(left)} ${HEIGHT}V${fixed(y)}H${fixed(right)}V${HEIGHT}Z`).join("");

function line(rates, scale) {
  let last = null;
  return [...steps(rates, scale)].map(([left, right, y]) => {
    const joined = last !== null && Math.abs(left - last) < 1 ? `V${fixed(y)}` : `M${fixed(left)} ${fixed(y)}`;
    last = right;
    return `${joined}H${fixed(right)}`;
  }).join("");
}
