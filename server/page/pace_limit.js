// Pace among the limits: what produces may take, and a change of it.
"use strict";

import { post, put } from "./api.js";
import { ask } from "./confirm.js";

export const PACE = "pace";

const EXPECTED = "Enter auto, off, a multiple of the idle latency such as 1.5, or milliseconds such as 10 ms.";

// The row of pace in the table of limits. `target` is that of `/v1/limits`: null while pace is off.
export const paceRow = (target) => ({
  name: PACE,
  config: "reassignment.pace",
  limit: target,
  used: null,
  meaning: "latency that produces may have while partitions move",
});

export const paceValue = ({ limit: target }) => target ?? "off";

// Reads what the user enters: the new values of `/v1/limits`, and what they mean.
export function readPace(text) {
  const wanted = text.toLowerCase();
  if (wanted === "" || wanted === "off") return { changes: { pace: "off" }, meaning: "off" };
  if (wanted === "auto") return { changes: { pace: "auto" }, meaning: "the latency set before, 1.5 times the idle latency at first" };
  const [, number, unit] = wanted.match(/^(\d{1,9}(?:\.\d{1,6})?) ?(ms|times|x|×|)(?: the idle latency)?$/) ?? [];
  if (number === undefined) throw new Error(EXPECTED);
  if (unit === "ms") return { changes: { pace: "auto", "pace.ms": Number(number) }, meaning: `${Number(number)} ms` };
  return { changes: { pace: "auto", "pace.ms": null, "pace.factor": Number(number) }, meaning: `${Number(number)} times the idle latency` };
}

export async function changePace({ limit: target }, app) {
  const lines = [
    target === null ? "It is off now: the limits alone say how much moves." : `Produces take at most ${target} now.`,
    "It acts at once, also on steps in flight.",
  ];
  const preview = async ({ changes, meaning }) => {
    await post("v1/limits/preview", changes);
    return [changes.pace === "off" ? "Off: what moves is limited by the other limits alone." : `Produces may take at most ${meaning}.`];
  };
  const field = { label: "auto, off, a multiple of the idle latency, or ms such as 10 ms", value: target ?? "auto", read: readPace, preview };
  const answer = await ask("Change pace", lines, "Change", field);
  if (answer) await app.act(({ pace }) => `Pace: ${target ?? "off"} → ${pace ?? "off"}.`, () => put("v1/limits", answer.value.changes));
}
