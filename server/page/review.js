// The review of a plan: what it does in words, the partitions that cannot arrive, and the brokers before and after.
"use strict";

import { brokerTable, charts } from "./broker_figures.js";
import { Table, h, named, setHidden, setText } from "./dom.js";
import { circumstanceLines, copyLine, forecastLine, outpacedLine, rateLine, scheduledLine, spent, underWayLine } from "./forecast.js";
import { bytes, count, counted, list, visible } from "./format.js";

function lines(review) {
  const moving = review.partitions - review.unchanged;
  const limits = Object.entries(review.limits).map(([name, limit]) => `${name} = ${count(limit)}`).join(", ");
  return [
    `${counted(moving, "partition")} will move.${review.unchanged ? ` ${count(review.unchanged)} of ${counted(review.partitions, "entry", "entries")} change nothing.` : ""}`,
    moving > 0 && `${copyLine(review)} The steps make ${counted(review.waves, "wave")}, with ${counted(review.leader_movements, "leader movement")}.`,
    moving > 0 && `${forecastLine(review)} ${rateLine(review)} Limits: ${limits || "none"}.`,
    moving > 0 && outpacedLine(review),
    moving > 0 && scheduledLine(review),
    ...circumstanceLines(review),
    underWayLine(review, false),
    review.waiting_partitions > 0 && `${counted(review.waiting_partitions, "partition")} cannot arrive now.`,
  ].filter(Boolean);
}

const newBrokerTable = () => brokerTable([
  { label: "receives", number: true, text: (each) => bytes(each.bytes_in) },
  { label: "sends", number: true, text: (each) => bytes(each.bytes_out) },
  { label: "busy", number: true, text: (each) => spent(each.seconds) },
]);

const newStuckTable = () => new Table("stuck", "Partitions that cannot arrive now", [
  { label: "partition", ...named((each) => `${each.topic}-${each.partition}`) },
  { label: "gets as far as", text: (each) => list(each.replicas) },
  { label: "reason", wide: true, text: (each) => each.reason },
], (each) => `${each.topic}-${each.partition}`);

// The parts of a review, which are placed on the page, and `show(review)`.
export function newReview() {
  const [summary, drawings, rest] = [h("ul", { id: "summary" }), h("div", { id: "charts" }), h("p", { id: "rest" })];
  const [stuck, brokers] = [newStuckTable(), newBrokerTable()];
  return {
    summary: [summary, stuck.node],
    figures: [h("h3", {}, "Brokers before and after"), drawings, brokers.node, rest],
    show(review) {
      summary.replaceChildren(...lines(review).map((line) => h("li", {}, visible(line))));
      stuck.show(review.waiting);
      setHidden(stuck.node, !review.waiting.length);
      drawings.replaceChildren(...charts(review));
      setText(rest, brokers.show(review));
    },
  };
}
