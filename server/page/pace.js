// Pace: the latency of produces by broker against its target, now and in the last half hour, and what pace does about it.
"use strict";

import { get } from "./api.js";
import { BrokerCharts } from "./broker_charts.js";
import { Table, h, section, setHidden, setText } from "./dom.js";
import { rate } from "./format.js";

const HALF_HOUR_MS = 1_800_000;
const EVERY_MS = 5_000;
const SHOWN = 12; // brokers with a drawing: those with the highest latencies

const known = { samples: [], due: 0 };

const ms = (value) => (value === null || value === undefined ? "unknown" : `${value.toFixed(1)}\u00a0ms`);

const newTable = () => new Table("pace-brokers", "Latency of produces by broker, and what pace does about it", [
  { label: "broker", number: true, text: (row) => String(row.id) },
  { label: "latency", number: true, text: (row) => ms(row.latency_ms) },
  { label: "target", number: true, text: (row) => ms(row.target_ms) },
  { label: "replicas at once", number: true, text: (row) => (row.effort === null ? "any number" : String(row.effort)) },
  { label: "throttle", number: true, text: (row) => (row.throttle === null ? "none" : rate(row.throttle)) },
  { label: "what it does", wide: true, text: (row) => `${row.activity}: ${row.reason}` },
], (row) => row.id);

// The section of pace. `update` shows the state from the status; it reads the samples that are not known yet, not more
// often than EVERY_MS.
export function newPace() {
  const [now, problem] = [h("p", { id: "pace-now" }), h("p", { id: "pace-problem", class: "bad" })];
  const charts = new BrokerCharts("pace", { label: (id) => `Latency of produces at broker ${id} in the last half hour; the arrow keys read it`, format: ms });
  const table = newTable();
  const node = section("pace", "Pace", now, problem, ...charts.nodes, table.node);
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
      charts.show(rowsOf(pace.brokers));
    },
    close: () => charts.close(),
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

// The brokers with the highest latencies, on the same scale.
function rowsOf(brokers) {
  const slowest = [...brokers].sort((a, b) => (b.latency_ms ?? 0) - (a.latency_ms ?? 0)).slice(0, SHOWN).sort((a, b) => a.id - b.id);
  const times = known.samples.map((each) => each.time_ms);
  const rows = slowest.map(({ id, latency_ms: latency, target_ms: target }) => {
    const of = (name) => known.samples.map((each) => each[name][each.brokers.indexOf(id)] ?? null);
    const series = [
      { name: "latency", kind: "area", tone: "one", times, values: of("latencies_ms") },
      { name: "target", kind: "dashed", tone: "bad", times, values: of("targets_ms") },
    ];
    return { id, text: `${ms(latency)}, target ${ms(target)}`, from: times[0] ?? 0, until: times.at(-1) ?? 1, series };
  });
  const most = Math.max(1, ...rows.flatMap(({ series }) => series.flatMap(({ values }) => values.map((each) => each ?? 0))));
  return rows.map((each) => ({ ...each, most }));
}
