// The load: the brokers with their skew, the hottest partitions and topics, and the hours of the day.
"use strict";

import { get, post } from "../api.js";
import { badge, facts } from "../build.js";
import { Table, h, progress, section, setButtons, setHidden, setText, shortened } from "../dom.js";
import { duration, rate, two } from "../format.js";
import { content } from "../listing.js";
import { partitionLink, partitionName } from "../partition_words.js";
import { topicLink } from "./topics.js";

const TOP = 20; // partitions and topics that are listed
const BROKERS = 100; // brokers that are listed, beyond the first TOP on request
const SELDOM_MS = 10_000; // the figures change once a minute

const known = (number) => (number === null ? "unknown" : rate(number));
const kinds = { exact: "good", estimated: "", unknown: "warn" };

function columns(first) {
  return [
    first,
    { label: "in", wide: true, ...progress((row) => ({ value: row.rates.in ?? 0, total: row.rates.in === null ? null : row.largest, text: known(row.rates.in), label: "in, of the largest" })) },
    { label: "out", number: true, text: (row) => known(row.rates.out) },
    { label: "in the busy hour", number: true, text: (row) => known(row.rates.in_busy) },
    { label: "quality", ...content((row) => badge(kinds[row.quality], row.quality)) },
  ];
}

const brokerColumns = columns({ label: "broker", ...content((row) => h("a", { href: `#/brokers/${row.broker}` }, String(row.broker))) });
brokerColumns.splice(3, 0,
  { label: "followers fetch", number: true, text: (row) => known(row.replication_in) },
  { label: "CPU", number: true, text: (row) => (row.cpu === null ? "" : `${Math.round(100 * row.cpu)}\u00a0%`) },
  { label: "leaders send", number: true, text: (row) => known(row.replication_out) });

// How far the broker with the most is above the mean.
function skew(rows, total) {
  const rates = rows.map((row) => row.rates.in);
  const sum = rates.reduce((all, each) => all + each, 0);
  if (rows.length < total || rates.includes(null) || !sum) return null;
  return `${((Math.max(...rates) * rates.length) / sum).toFixed(2)} times the mean`;
}

const hour = (number) => `${two(number % 24)}:00`;

function overall(answer) {
  const age = answer.measured_ms && duration(Math.max(0, Math.round((Date.now() - answer.measured_ms) / 1000)));
  return facts([
    ["in", known(answer.all.in)],
    ["out", known(answer.all.out)],
    ["the broker with the most in", skew(answer.rows, answer.total)],
    ["bytes out and CPU", answer.matched.join("; ") || null],
    ["partitions known", `${Math.round(100 * answer.coverage)}\u00a0%`],
    ["busy hour, UTC", answer.busy_hour === null ? null : `${hour(answer.busy_hour)} to ${hour(answer.busy_hour + 1)}`],
    ["measured", age ? `${age} ago` : null],
  ]);
}

// The figures; of an answer without any, why there are none.
function newParts() {
  const tables = {
    broker: shortened(new Table("load-of-brokers", "Brokers by the load of the partitions that they lead", brokerColumns, (row) => row.broker), TOP, "brokers"),
    partition: new Table("hottest-partitions", "Partitions with the most bytes in", columns({ label: "partition", ...content(partitionLink) }), partitionName),
    topic: new Table("hottest-topics", "Topics with the most bytes in", columns({ label: "topic", ...content(topicLink) }), (row) => row.topic),
  };
  const hours = new Table("hours", "Bytes in by hour of the day, in UTC, as a mean over about seven days", [
    { label: "hour", text: (row) => hour(row.hour) },
    { label: "in", wide: true, ...progress((row) => ({ value: row.in, total: row.largest, text: rate(row.in), label: "in, of the busiest hour" })) },
    { label: "out", number: true, text: (row) => known(row.out) },
  ], (row) => row.hour);
  const cards = [
    section("load-brokers", "Brokers", tables.broker.node),
    section("load-partitions", "Hottest partitions", tables.partition.node),
    section("load-topics", "Hottest topics", tables.topic.node),
    section("load-hours", "Hours of the day", hours.node),
  ];
  return { tables, hours, cards };
}

function show({ tables, hours, cards }, answers) {
  for (const [by, { rows }] of Object.entries(answers)) {
    const largest = Math.max(...rows.map((row) => row.rates.in ?? 0));
    tables[by].show(rows.map((row) => ({ ...row, largest })));
  }
  const of = answers.broker.hours.map((each, number) => ({ ...each, hour: number })).filter((each) => each.in !== null);
  const largest = Math.max(...of.map((each) => each.in));
  hours.show(of.map((each) => ({ ...each, largest })));
  for (const card of cards) setHidden(card, answers.broker.measured_ms === null);
  setHidden(cards.at(-1), !of.length);
}

// `changed()` is called before the page is read again.
async function change(sampling, app, changed) {
  const title = sampling ? "Measure load?" : "End the measurement of load?";
  const lines = sampling
    ? ["Once a minute, each broker is asked for the sizes of its logs and for offsets; every five minutes for the offsets of groups."]
    : ["The rates are forgotten. The hours of the day are kept in the data directory, where there is one."];
  if (await app.ask(title, lines, sampling ? "Measure" : "End")) {
    await app.act(sampling ? "Load is measured. The first figures are there after two minutes." : "Load is not measured any more.", () => post("v1/load", { sampling }).then(changed));
  }
}

export const page = {
  title: () => "Load",
  open(root, params, app) {
    const [text, problems, numbers] = [h("p", { role: "status" }), h("ul", { class: "rows" }), h("div", {})];
    const actions = h("p", { class: "actions" });
    const parts = newParts();
    root.append(h("h1", {}, "Load"), h("section", { class: "card", "aria-label": "Load of the cluster" }, text, problems, numbers, actions), ...parts.cards);
    let [due, closed, mayChange] = [0, false, null]; // `due` and `mayChange` are those of the last read
    return {
      async update() {
        if (performance.now() < due && app.mayChange === mayChange) return;
        [due, mayChange] = [performance.now() + SELDOM_MS, app.mayChange];
        const limits = { broker: BROKERS, partition: TOP, topic: TOP };
        const found = await Promise.all(Object.entries(limits).map(async ([by, limit]) => [by, await get("v1/load", { by, limit })])).catch((error) => {
          due = 0;
          throw error;
        });
        if (closed) return;
        const answers = Object.fromEntries(found);
        const { broker: answer } = answers;
        const begun = answer.sampling && answer.measured_ms === null && !answer.problems.length;
        setHidden(text, answer.sampling && !begun);
        setText(text, answer.sampling ? (begun ? "The first round has not ended yet." : "") : "Load is not measured. Once it is, this page shows which brokers, topics and partitions are written and read most, and plans can even that out.");
        problems.replaceChildren(...answer.problems.map((line) => h("li", {}, badge("warn", "missing"), h("span", {}, line))));
        numbers.replaceChildren(...(answer.measured_ms === null ? [] : [overall(answer)]));
        const name = answer.sampling ? "End the measurement…" : "Measure load…";
        setButtons(actions, mayChange ? [[name, name, () => change(!answer.sampling, app, () => { due = 0; })]] : []);
        show(parts, answers);
      },
      close() {
        closed = true;
      },
    };
  },
};
