// What a forecast says in words.
"use strict";

import { bytes, counted, duration, rate } from "./format.js";

const ORIGINS = {
  given: "the throttle of this job",
  throttle: "the throttle in force",
  measured: "the rate of the fastest broker now",
  paced: "what pace permits now, or has permitted in the last half hour",
  assumed: "assumed, because there is no throttle and no measured rate",
  unpaced: "assumed, because pace has permitted nothing in the last half hour; with producers it takes longer",
};

export const spent = (seconds) => (seconds > 0 && seconds < 1 ? "less than 1\u00a0s" : duration(seconds));

export function copyLine(review) {
  return `${counted(review.replica_movements, "replica")} (${bytes(review.bytes)}) will be copied, in ${counted(review.steps, "step")}.`;
}

export function forecastLine(review) {
  const least = review.least_seconds < review.seconds ? `, at least ${spent(review.least_seconds)}` : "";
  return `Forecast: ${spent(review.seconds)}${least}, at ${rate(review.bandwidth)} to and from each broker.`;
}

// What producers add to the partitions while they are copied.
export const outpacedLine = ({ outpaced_brokers: brokers }) =>
  (brokers ? `${counted(brokers, "broker")} would copy no faster than producers write to the same partitions: that does not end.` : "");

// Where the rate of the forecast is known from.
export const rateLine = ({ rate_origin: origin }) => (origin ? `The rate is ${ORIGINS[origin]}.` : "");

// What slows or holds the plan now.
export const circumstanceLines = ({ set_by_others: others, obstacles }) => [
  ...others.map((each) => `Others have set ${rate(each.bytes_per_second)} at ${each.brokers.length > 1 ? "brokers" : "broker"} ${each.brokers.join(", ")}.`),
  ...obstacles.map((each) => `Now: ${each}.`),
];

export function scheduledLine({ scheduled_seconds: scheduled, seconds }) {
  if (scheduled === seconds) return "";
  return scheduled === null ? "In the periods of the schedule it takes more than 90 days." : `In the periods of the schedule it ends in ${spent(scheduled)}.`;
}

export function underWayLine(review, queued) {
  if (!review.under_way) return "";
  const what = queued ? "return to their original replicas first" : "turn to the new target";
  return `${counted(review.under_way, "partition")} of the plan are moving or queued now: they ${what}.`;
}
