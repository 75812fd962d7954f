// The review of a plan: what it does in words, the partitions that cannot arrive, and the brokers before and after.
"use strict";

import { brokerTable, charts } from "./broker_figures.js";
import { Table, element, setHidden, setText } from "./dom.js";
import { circumstanceLines, copyLine, forecastLine, rateLine, scheduledLine, spent, underWayLine } from "./forecast.js";
import { bytes, count, counted, list } from "./format.js";

function lines(review) {
  const moving = review.partitions - review.unchanged;
  const limits = Object.entries(review.limits).map(([name, limit]) => `${name} = ${count(limit)}`).join(", ");
  return [
    `${counted(moving, "partition")} will move.${review.unchanged ? ` ${count(review.unchanged)} of ${counted(review.partitions, "entry", "entries")} change nothing.` : ""}`,
    moving > 0 && `${copyLine(review)} The steps make ${counted(review.waves, "wave")}, with ${counted(review.leader_movements, "leader movement")}.`,
    moving > 0 && `${forecastLine(review)} ${rateLine(review)} Limits: ${limits || "none"}.`,
    moving > 0 && scheduledLine(review),
    ...circumstanceLines(review),
    underWayLine(review, false),
    review.waiting_partitions > 0 && `${counted(review.waiting_partitions, "partition")} cannot arrive now.`,
  ].filter(Boolean);
}

const brokers = brokerTable([
  { label: "receives", number: true, text: (each) => bytes(each.bytes_in) },
  { label: "sends", number: true, text: (each) => bytes(each.bytes_out) },
  { label: "busy", number: true, text: (each) => spent(each.seconds) },
]);

const stuck = new Table("stuck", [
  { label: "partition", text: (each) => `${each.topic}-${each.partition}` },
  { label: "gets as far as", text: (each) => list(each.replicas) },
  { label: "reason", wide: true, text: (each) => each.reason },
], (each) => `${each.topic}-${each.partition}`);

export function showReview(review) {
  element("summary").replaceChildren(...lines(review).map((line) => {
    const item = document.createElement("li");
    setText(item, line);
    return item;
  }));
  stuck.show(review.waiting);
  setHidden(element("stuck"), !review.waiting.length);
  element("charts").replaceChildren(...charts(review));
  setText(element("rest"), brokers.show(review));
}
