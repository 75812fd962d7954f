// The schedule: the periods in which steps may start, what it permits now, and a change that is checked first.
"use strict";

import { get, getNow, post, put } from "./api.js";
import { ask } from "./confirm.js";
import { Table, element, setHidden, setText } from "./dom.js";
import { rate, time } from "./format.js";

const EVERY_MS = 30_000;
const EXAMPLE = "Mon-Fri 22:00-06:00 throttle=50MB; tz=Europe/Berlin";

const table = new Table("periods", [
  { label: "days", text: (period) => period.days.join(" ") },
  { label: "from", text: (period) => period.start },
  { label: "to", text: (period) => (period.end > period.start ? period.end : `${period.end} on the next day`) },
  { label: "throttle", number: true, text: (period) => (period.throttle === null ? "that of the limits" : rate(period.throttle)) },
], (period) => `${period.days.join()} ${period.start} ${period.end}`);

let shown = null;
let edge = ""; // what the state of the server says; the schedule is read again when it changes
let due = 0;

// Shows the schedule. `state` is that of `/v1/status`.
export async function readSchedule(state) {
  const newEdge = JSON.stringify(state);
  if (performance.now() < due && newEdge === edge) return;
  shown = await get("v1/schedule");
  [due, edge] = [performance.now() + EVERY_MS, newEdge];
  table.show(shown.periods);
  setHidden(element("periods"), !shown.periods.length);
  setText(element("schedule-now"), shown.schedule === null ? "There is no schedule: steps may start at any time." : nowLine(shown));
}

function nowLine({ now, time_zone: zone }) {
  const until = now.until_ms ? ` until ${time(now.until_ms)}` : "";
  const limited = now.open && now.throttle !== null ? `, with a throttle of ${rate(now.throttle)}` : "";
  const what = now.open ? `Steps may start${until}${limited}.` : `No steps start: ${now.reason}.`;
  return `${what} Times of the periods are in ${zone}.`;
}

export async function changeSchedule(context) {
  const present = await context.attempt(() => getNow("v1/schedule"));
  if (!present) return;
  const lines = ["Steps in flight continue. Days and times, separated by semicolons; nothing for no schedule."];
  const read = (text) => text || null;
  const preview = async (text) => {
    const checked = await post("v1/schedule/preview", { schedule: text });
    return [text === null ? "Without a schedule steps may start at any time." : nowLine(checked)];
  };
  const field = { label: `Schedule, such as ${EXAMPLE}`, value: present.schedule ?? "", read, preview };
  const answer = await ask("Change the schedule", lines, "Change", field);
  if (!answer) return;
  due = 0;
  await context.act(answer.value === null ? "The schedule is removed." : "The schedule is changed.", () => put("v1/schedule", { schedule: answer.value }));
}
