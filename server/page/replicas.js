// Replicas as chips: those that go are struck, those that come are green, the leader is marked.
"use strict";

import { h } from "./dom.js";

// `isr` null: not known.
export function chips({ replicas, target = null, leader = null, isr = null }) {
  const chip = (broker, kind, title) => h("a", { class: `chip ${kind}`, href: `#/brokers/${broker}`, title }, broker);
  const goes = (broker) => target !== null && !target.includes(broker);
  const now = replicas.map((broker) => {
    const lags = isr !== null && !isr.includes(broker);
    const kinds = [goes(broker) && "going", broker === leader && "leader", lags && "lagging"].filter(Boolean);
    const words = [broker === leader && "leader", lags && "not in sync", goes(broker) && "will be removed"].filter(Boolean);
    return chip(broker, kinds.join(" "), `Broker ${broker}${words.length ? `: ${words.join(", ")}` : ""}`);
  });
  const coming = (target ?? []).filter((broker) => !replicas.includes(broker)).map((broker) => chip(broker, "coming", `Broker ${broker}: will be added`));
  return h("span", { class: "chips" }, now, coming);
}
