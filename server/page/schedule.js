// The schedule: the periods in which steps may start, what it permits now, and a change that is checked first.
"use strict";

import { get, getNow, post, put } from "./api.js";
import { ask } from "./confirm.js";
import { Table, h, section, setHidden, setText } from "./dom.js";
import { rate, time } from "./format.js";

const EVERY_MS = 30_000;
const EXAMPLE = "Mon-Fri 22:00-06:00 throttle=50MB; tz=Europe/Berlin";

const newTable = () => new Table("periods", "Periods in which steps may start", [
  { label: "days", text: (period) => period.days.join(" ") },
  { label: "from", text: (period) => period.start },
  { label: "to", text: (period) => (period.end > period.start ? period.end : `${period.end} on the next day`) },
  { label: "throttle", number: true, text: (period) => (period.throttle === null ? "that of the limits" : rate(period.throttle)) },
], (period) => `${period.days.join()} ${period.start} ${period.end}`);

// The section of the schedule. `update` reads it when the state in `/v1/status` has changed, else every EVERY_MS.
export function newSchedule(app) {
  const table = newTable();
  const now = h("p", { id: "schedule-now" });
  const change = h("button", { type: "button", id: "change-schedule", onclick: () => changeSchedule(app) }, "Change the schedule…");
  let [edge, due] = ["", 0];
  return {
    node: section("schedule", "Schedule", now, table.node, h("p", {}, change)),
    async update(state) {
      setHidden(change, !app.mayChange);
      const newEdge = JSON.stringify(state);
      if (performance.now() < due && newEdge === edge) return;
      const shown = await get("v1/schedule");
      [due, edge] = [performance.now() + EVERY_MS, newEdge];
      table.show(shown.periods);
      setHidden(table.node, !shown.periods.length);
      setText(now, shown.schedule === null ? "There is no schedule: steps may start at any time." : nowLine(shown));
    },
  };
}

function nowLine({ now, time_zone: zone }) {
  const until = now.until_ms ? ` until ${time(now.until_ms)}` : "";
  const limited = now.open && now.throttle !== null ? `, with a throttle of ${rate(now.throttle)}` : "";
  const what = now.open ? `Steps may start${until}${limited}.` : `No steps start: ${now.reason}.`;
  return `${what} Times of the periods are in ${zone}.`;
}

async function changeSchedule(app) {
  const present = await app.attempt(() => getNow("v1/schedule"));
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
  await app.act(answer.value === null ? "The schedule is removed." : "The schedule is changed.", () => put("v1/schedule", { schedule: answer.value }));
}
