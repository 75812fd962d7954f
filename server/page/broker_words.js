// A broker in words, badges and numbers.
"use strict";

import { badge, meter } from "./build.js";
import { h } from "./dom.js";
import { bytes, count, counted, rate } from "./format.js";

const STATES = { live: "good", "shutting down": "warn", offline: "bad", "offline and empty": "" };

export const stateBadge = (broker) => badge(STATES[broker.state] ?? "", broker.state);

// What an operator should know about the broker before acting on it.
export function flags(broker) {
  const found = [];
  if (broker.cordoned) found.push(badge("warn", "cordoned"));
  if (broker.excluded) found.push(badge("warn", "gets no new partitions"));
  if (broker.hidden) found.push(badge("bad", "hidden from clients"));
  if (broker.empty) found.push(badge("", "empty"));
  if (broker.lagging) found.push(badge("bad", `${count(broker.lagging)} not in sync`));
  return found;
}

export function percent(part, whole) {
  const share = (100 * part) / whole;
  return share > 0 && share < 1 ? "<\u00a01\u00a0%" : `${Math.round(share)}\u00a0%`;
}

export function diskMeter(broker) {
  const { disk_total: total, disk_used: used } = broker;
  if (total === null) return h("span", { class: "soft" }, "not known");
  return meter(used, total, `${percent(used, total)} of ${bytes(total)}`, `Disk of broker ${broker.id}: ${bytes(used)} of ${bytes(total)} used`);
}

// Bytes of replicas; those of unknown size are named.
export const sized = (size, unsized, noun) => (unsized ? `${bytes(size)}, without ${counted(unsized, noun)} of unknown size` : bytes(size));

export function movesText({ moving_in: incoming, moving_out: outgoing, rate_in: rateIn, rate_out: rateOut }) {
  const part = (arrow, number, speed) => number && `${arrow}\u00a0${count(number)}${speed ? ` at ${rate(speed)}` : ""}`;
  return [part("in", incoming, rateIn), part("out", outgoing, rateOut)].filter(Boolean).join(", ");
}

// The builder of plans with the goal filled in: its address, and a link to it.
export const planAddress = (query) => `#/plan/propose?${new URLSearchParams(query)}`;
export const planLink = (text, query, kind = "", more = {}) => h("a", { class: `button ${kind}`, href: planAddress(query), ...more }, text);

export const topicAddress = (topic) => `#/topics/${encodeURIComponent(topic)}`;

// A regular expression that matches exactly this topic.
export const onlyTopic = (topic) => topic.replace(/[.]/g, "\\.");
