// Until when a change of leaders lasts: it is rolled back by itself then.
"use strict";

import { clock, duration } from "./format.js";

const UNITS = { min: 60_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const LONGEST_MS = 366 * 86_400_000;

// Reads `2h`, `90 min`, `1d` or `18:00`, the next time that clocks show that; nothing is null. Returns ms since 1970.
export function readUntil(text, now = Date.now()) {
  if (text === "") return null;
  const span = text.match(/^(\d{1,5}(?:\.\d{1,2})?) ?(min|m|h|d)$/i);
  if (span) {
    const ms = Math.round(Number(span[1]) * UNITS[span[2].toLowerCase()]);
    if (ms > 0 && ms <= LONGEST_MS) return now + ms;
  }
  const at = text.match(/^([01]?\d|2[0-3]):([0-5]\d)$/);
  if (!at) throw new Error("Enter a duration, such as 90 min, 2h or 1d, or a time, such as 18:00, or nothing.");
  const then = new Date(now).setHours(Number(at[1]), Number(at[2]), 0, 0);
  return then > now ? then : new Date(then).setDate(new Date(then).getDate() + 1);
}

export const untilLine = (ms) => (ms === null ? "It stays until you roll the job back." : `It is rolled back by itself at ${clock(ms)}, in ${duration(Math.round((ms - Date.now()) / 1000))}.`);

// When the job is rolled back by itself; empty if it is not. `restores` are those of `/v1/status`.
export function restoreText(restores, number) {
  const found = restores?.find(({ job }) => job === number);
  return found ? `Restores at ${clock(found.until_ms)}.` : "";
}
