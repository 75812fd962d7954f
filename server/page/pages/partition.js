// One partition: its replicas, where it goes, and why it waits.
"use strict";

import { get } from "../api.js";
import { badge, button, crumbs, facts } from "../build.js";
import { planLink, topicAddress } from "../broker_words.js";
import { h, pieces, setText } from "../dom.js";
import { bytes, count, list } from "../format.js";
import { partitionHealth, partitionName, partitionState, sizeText } from "../partition_words.js";

export const page = {
  title: ({ topic, partition }) => `${topic}-${partition}`,
  open(root, { topic, partition: number }, app) {
    const path = `v1/topics/${encodeURIComponent(topic)}/partitions/${number}`;
    const view = {
      badges: h("span", { class: "badges" }),
      actions: h("p", { class: "actions" }),
      trouble: h("p", { role: "alert", class: "bad" }),
      numbers: h("div", {}),
      replicas: h("div", {}),
    };
    root.append(
      crumbs([["Topics", "#/topics"], [topic, topicAddress(topic)]], number),
      h("div", { class: "page-head start" }, h("h1", {}, `${topic}-${number}`), view.badges),
      view.actions, view.trouble,
      h("div", { class: "cards" },
        h("section", { class: "card", "aria-label": "Replicas" }, h("h2", {}, "Replicas"), view.replicas),
        h("section", { class: "card", "aria-label": "Its state" }, h("h2", {}, "State"), view.numbers)));
    let closed = false;
    return {
      async update() {
        try {
          const { partition } = await get(path);
          if (closed) return;
          setText(view.trouble, "");
          show(view, partition, app);
        } catch (error) {
          setText(view.trouble, error.message);
        }
      },
      close() {
        closed = true;
      },
    };
  },
};

function show(view, row, app) {
  const looks = JSON.stringify([row, app.mayChange]);
  if (view.looks === looks) return;
  view.looks = looks;
  view.badges.replaceChildren(partitionHealth(row), partitionState(row));
  view.replicas.replaceChildren(replicaTable(row));
  view.numbers.replaceChildren(facts([
    ["leader", row.leader === null ? "none" : `broker ${row.leader}`],
    ["in sync", `${count(row.isr.length)} of ${count(row.replicas.length)}; at least ${count(row.min_isr)} for acks=all`],
    ["size", sizeText(row)],
    ["target", row.target && list(row.target)],
    ["step in flight", row.step && list(row.step)],
    ["a cancel restores", row.original && list(row.original)],
    ["to copy", row.bytes === null ? null : `${bytes(row.copied ?? 0)} of ${bytes(row.bytes)}`],
    ["job", row.job === null ? null : h("a", { href: `#/jobs/${row.job}` }, `job ${row.job}`)],
    ["why it does not move", row.reason],
  ]));
  showActions(view, row, app);
}

function replicaTable({ topic, partition, replicas, isr, leader, target, step, sizes, log_dirs: dirs }) {
  const all = [...new Set([...replicas, ...(step ?? []), ...(target ?? [])])];
  const cell = (label, ...children) => h("td", { role: "cell", "data-label": label }, children);
  const line = (broker, place) => {
    const stays = target === null || target.includes(broker);
    const held = replicas.includes(broker);
    const copying = !held && step?.includes(broker);
    return h("tr", { role: "row" },
      h("th", { scope: "row", role: "rowheader", class: "nowrap", "data-label": "replica" }, h("a", { href: `#/brokers/${broker}` }, `Broker ${broker}`)),
      cell("role", broker === leader && badge("good", "leader"), broker === replicas[0] && broker !== leader && badge("", "preferred leader")),
      cell("sync", isr.includes(broker) ? badge("good", "in sync") : held && badge("bad", "not in sync")),
      cell("size", held && sizes[place] !== null && bytes(sizes[place]), held && dirs[place] && h("small", {}, " ", pieces(dirs[place], "/"))),
      cell("change", copying && badge("info", "is being copied"), !held && !copying && badge("warn", "to be copied"), !stays && badge("warn", "will be removed")));
  };
  const heads = ["replica", "role", "sync", "size", "change"].map((text) => h("th", { scope: "col", role: "columnheader" }, text));
  return h("table", { role: "table" }, h("caption", {}, `Replicas of ${topic}-${partition}`),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads)), h("tbody", { role: "rowgroup" }, all.map(line)));
}

function showActions(view, row, app) {
  if (!app.mayChange) {
    view.actions.replaceChildren();
    return;
  }
  const plan = { version: 1, partitions: [{ topic: row.topic, partition: row.partition, replicas: row.target ?? row.replicas }] };
  view.actions.replaceChildren(
    planLink("Move it to other brokers…", { goal: "to", partitions: partitionName(row) }, "primary"),
    h("a", { class: "button", href: `#/plan?${new URLSearchParams({ plan: JSON.stringify(plan) })}` }, "Choose its replicas…"),
    ...(row.target === null ? [] : [button("Cancel the move…", () => app.run.cancelPartition(row), "danger")]));
}
