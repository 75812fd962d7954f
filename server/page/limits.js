// The limits, the throttle and pace in words, and a change with what it would start.
"use strict";

import { getNow, post, put } from "./api.js";
import { ask, wholeNumber } from "./confirm.js";
import { bytes, count, counted, rate, rateText, readRate } from "./format.js";
import { PACE, changePace, paceRow, paceValue } from "./pace_limit.js";

// What each limit bounds, in the order of the page.
export const NAMES = {
  P: "Partitions that move at once",
  B: "Replicas that are copied at once, for each broker",
  C: "Replicas that are copied at once, in the cluster",
  bytes: "Bytes on their way at once",
  L: "Leaders that move at once",
  R: "Replicas of one partition that are added at once",
  throttle: "Rate to and from each broker",
  pace: "Latency that producers may see",
};

const BROKERS = 3; // brokers that a preview names

const valueOf = (name, value) => (value === null ? "none" : name === "throttle" ? rate(value) : name === "bytes" ? bytes(value) : count(value));

// What steps in flight use of a limit.
export const usedOf = (limit) => valueOf(limit.name, limit.used);

export const limitValue = (limit) => (limit.name === PACE ? paceValue(limit) : valueOf(limit.name, limit.limit));

// The rows on the page may be older than the last change: the dialog says the value of this moment.
export async function changeAsItIs(name, app) {
  const read = await app.attempt(() => getNow("v1/limits"));
  if (!read) return;
  if (name === PACE) await changePace(paceRow(read.pace), app);
  else await changeLimit(read.limits.find((limit) => limit.name === name), app);
}

const titleOf = (name) => `${NAMES[name]}${name.length === 1 ? ` (limit ${name})` : ""}`;

async function changeLimit(limit, app) {
  const waits = app.status.reasons
    .filter(({ reason }) => reason.startsWith(`limit ${limit.name}:`))
    .reduce((sum, { partitions }) => sum + partitions, 0);
  const [now, ofIt] = limit.limit === null ? ["There is no limit now.", ""] : [`It is ${limitValue(limit)}.`, " of it"];
  const lines = [
    `${now} ${limit.used === null ? "" : `Steps in flight use ${usedOf(limit)}${ofIt}, and continue.`}`,
    limit.name !== "throttle" && limit.limit !== null && waits > 0 && (waits === 1 ? "1 partition waits for it." : `${counted(waits, "partition")} wait for it.`),
  ];
  const [unit, read] = limit.name === "throttle" ? ["New rate, such as 50MB", readRate] : ["New limit", wholeNumber(1, limit.name === "bytes" ? Number.MAX_SAFE_INTEGER : 2 ** 31 - 1, true)];
  const preview = async (value) => effectLines(limit.name, await post("v1/limits/preview", { [limit.name]: value }));
  const field = { label: `${unit}; leave it empty for no limit`, value: limit.name === "throttle" && limit.limit ? rateText(limit.limit) : limit.limit ?? "", read, preview };
  const answer = await ask(titleOf(limit.name), lines, "Change", field);
  if (answer) await app.act(`Limit ${limit.name}: ${limitValue(limit)} → ${valueOf(limit.name, answer.value)}.`, () => put("v1/limits", { [limit.name]: answer.value }));
}

// What a change would do now, from the preview of the server.
function effectLines(name, effect) {
  const changed = effect.limits.find((each) => each.name === name);
  const starting = effect.brokers.filter((each) => each.starting_in || each.starting_out).slice(0, BROKERS);
  return [
    `With ${valueOf(name, changed.after)}: ${startsLine(effect)}`,
    changed.excess > 0 && `${count(changed.excess)} in flight are above the new limit; they continue.`,
    name === "throttle" && `The throttle in force would be ${valueOf(name, effect.throttle)}.`,
    ...starting.map((each) => `Broker ${each.id}: ${counted(each.starting_in, "replica")} start to it, ${count(each.starting_out)} from it.`),
  ];
}

function startsLine({ starts, more, stopped }) {
  if (stopped) return `no step starts, because ${stopped}.`;
  if (!starts) return "no waiting step starts at once.";
  return `${more ? "at least " : ""}${counted(starts, "waiting step")} ${starts === 1 ? "starts" : "start"} at once.`;
}
