// The throughput of the last hour: a chart for each broker, with what it received and sent, against the throttle.
"use strict";

import { get } from "./api.js";
import { BrokerCharts } from "./broker_charts.js";
import { section, setHidden } from "./dom.js";
import { count, rate } from "./format.js";

const HOUR_MS = 3_600_000;
const EVERY_MS = 10_000;
const SHOWN = 12; // brokers: those that copied most

const known = { times: [], throttles: [], brokers: new Map(), sampleMs: 0 };
let due = 0;

// The section of the throughput. `update` reads the samples that are not known yet, not more often than EVERY_MS.
export function newThroughput() {
  const charts = new BrokerCharts("throughput", { label: (id) => `Throughput of broker ${id} in the last hour; the arrow keys read it`, format: rate });
  const node = section("throughput", "Throughput in the last hour", ...charts.nodes);
  node.hidden = true;
  let drawn; // the time of the last sample that is drawn
  return {
    node,
    async update() {
      if (performance.now() >= due) {
        const answer = await get("v1/throughput", { since: known.times.at(-1) ?? "" });
        due = performance.now() + EVERY_MS;
        add(answer);
      }
      const last = known.times.at(-1);
      if (drawn !== last) show(node, charts);
      drawn = last;
    },
    close: () => charts.close(),
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

function show(node, charts) {
  const active = [...known.brokers.values()].filter((each) => sum(each) > 0);
  const listed = active.sort((a, b) => sum(b) - sum(a)).slice(0, SHOWN).sort((a, b) => a.id - b.id);
  setHidden(node, !listed.length);
  const [until, first] = [known.times.at(-1), known.times[0] - known.sampleMs];
  // All brokers have the same scale.
  const scale = Math.max(1, most(known.throttles), ...listed.map((each) => Math.max(most(each.incoming), most(each.outgoing))));
  const rows = listed.map((each) => ({
    id: each.id,
    text: `${shown(each.incoming.at(-1))} in, ${shown(each.outgoing.at(-1))} out`,
    from: Math.max(first, until - HOUR_MS),
    until,
    series: seriesOf(each),
    most: scale,
  }));
  charts.show(rows, active.length > SHOWN ? `the ${SHOWN} of ${count(active.length)} brokers that copied most` : "");
}

function seriesOf({ incoming, outgoing }) {
  const limited = known.throttles.some((each) => each !== null);
  return [
    { name: "received", kind: "area", tone: "one", times: known.times, values: incoming },
    { name: "sent", kind: "line", tone: "two", times: known.times, values: outgoing },
    limited && { name: "throttle", kind: "dashed", tone: "bad", times: known.times, values: known.throttles },
  ].filter(Boolean);
}
