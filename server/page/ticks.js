// Round numbers for the axes of charts.
"use strict";

import { hours, two } from "./format.js";

const FACTORS = [1, 2, 5, 10];

// From 0 on, at most `most` steps of 1, 2 or 5 times a power of ten; the last one is not below `largest`.
export function valueTicks(largest, most = 4) {
  if (!(largest > 0)) return [0, 1]; // Half of nothing is no number to read.
  const power = 10 ** Math.floor(Math.log10(largest / most));
  const step = power * FACTORS.find((each) => power * each * most >= largest * (1 - 1e-9));
  const steps = Math.max(1, Math.ceil(largest / step - 1e-9));
  return Array.from({ length: steps + 1 }, (_, place) => place * step);
}

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((each) => each * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((each) => each * MINUTE),
  ...[1, 2, 3, 6, 12].map((each) => each * HOUR),
  ...[1, 2, 7, 14, 30, 90, 365].map((each) => each * DAY),
];

// Times in the range, in milliseconds, that are round where the reader is.
export function timeTicks(from, until, most) {
  const step = STEPS.find((each) => (until - from) / each <= most) ?? STEPS.at(-1);
  const offset = new Date(from).getTimezoneOffset() * MINUTE;
  const ticks = [];
  for (let at = Math.ceil((from - offset) / step) * step + offset; at <= until; at += step) ticks.push(at);
  return { step, ticks };
}

// The text of a time on an axis with this step.
export function timeLabel(at, step) {
  const then = new Date(at);
  if (step >= DAY) return then.toLocaleDateString(undefined, { day: "numeric", month: "short" });
  return step < MINUTE ? `${hours(then)}:${two(then.getSeconds())}` : hours(then);
}
