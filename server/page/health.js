// The health of the cluster in words.
"use strict";

import { capital, time } from "./format.js";

const GUARD = { 0: "The health guard starts repairs only.", 1: "The health guard starts one step at a time." };
const GUARD_OFF = "The health guard is off: steps start nevertheless.";

function unseen(health) {
  const since = time(health.unseen_since_ms);
  return `The Kafka cluster has not answered since ${since}: no steps start, and what is shown of it is of that time. ${health.trouble}`;
}

// What is wrong, one line each; empty when nothing is.
export function problemLines({ health }) {
  const guard = health.trouble ? [`${GUARD[health.holds] ?? GUARD_OFF} It found: ${health.trouble}`] : [];
  return health.unseen_since_ms ? [unseen(health)] : [...health.problems.map(capital), ...guard];
}

// The state of everything in a word or two, and its kind: `good`, `warn` or `bad`.
export function verdict(status) {
  const { health, paused, jobs, reassignments: moves } = status;
  if (problemLines(status).length) return [health.trouble && health.holds === 0 ? "unhealthy, holding" : "unhealthy", "bad"];
  if (paused) return ["paused", "warn"];
  if (jobs.some((job) => job.held)) return ["held", "warn"];
  return [moves.moving ? "moving" : "healthy", "good"];
}
