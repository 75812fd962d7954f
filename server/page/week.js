// A week of opening hours: seven days, each a list of times in minutes after midnight with a throttle (null: none).
// Pure functions; `fromPeriods` and `toText` translate from and to the schedule of the server.
"use strict";

import { rateText, two } from "./format.js";

export const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
export const DAY = 24 * 60;

export const emptyWeek = () => DAYS.map(() => []);

const minutes = (text) => {
  const [hours, rest] = text.split(":").map(Number);
  return 60 * hours + rest;
};

export const clock = (at) => `${two(Math.floor(at / 60))}:${two(at % 60)}`;

// Makes the time of a day open with this throttle, or closed if `throttle` is undefined. Returns a new week.
export function paint(week, day, from, to, throttle) {
  if (to <= from) return week;
  const rest = week[day].flatMap((each) => [
    { ...each, to: Math.min(each.to, from) },
    { ...each, from: Math.max(each.from, to) },
  ]).filter((each) => each.from < each.to);
  const added = throttle === undefined ? [] : [{ from, to, throttle }];
  return week.map((hours, place) => (place === day ? joined([...rest, ...added]) : hours));
}

function joined(hours) {
  const found = [];
  for (const each of [...hours].sort((a, b) => a.from - b.from)) {
    const last = found.at(-1);
    if (last && last.to === each.from && last.throttle === each.throttle) last.to = each.to;
    else found.push({ ...each });
  }
  return found;
}

// The week of the periods of `/v1/schedule`. Where two of them overlap, the lower throttle is in force.
export function fromPeriods(periods) {
  const byThrottle = [...periods].sort((a, b) => (b.throttle ?? Infinity) - (a.throttle ?? Infinity));
  return byThrottle.reduce((week, { days, start, end, throttle }) => days.reduce((before, name) => {
    const [day, from, to] = [DAYS.indexOf(name), minutes(start), minutes(end)];
    if (to > from) return paint(before, day, from, to, throttle);
    return paint(paint(before, day, from, DAY, throttle), (day + 1) % 7, 0, to, throttle);
  }, week), emptyWeek());
}

// The text of the schedule, with times that go on after midnight as one period; empty for a week without any.
export function toText(week, zone) {
  const taken = new Set(); // days whose first hours belong to the night before
  const periods = new Map();
  const add = (day, from, to, throttle) => {
    const times = `${clock(from)}-${clock(to)}${throttle === null ? "" : ` throttle=${rateText(throttle)}`}`;
    periods.set(times, [...(periods.get(times) ?? []), day]);
  };
  week.forEach((hours, day) => {
    const last = hours.at(-1);
    const next = week[(day + 1) % 7][0];
    if (last?.to === DAY && last.from > 0 && next?.from === 0 && next.to <= last.from && next.throttle === last.throttle) taken.add((day + 1) % 7);
  });
  week.forEach((hours, day) => hours.forEach((each) => {
    if (each.from === 0 && taken.has(day)) return;
    const next = (day + 1) % 7;
    const night = each.to === DAY && each.from > 0 && taken.has(next);
    add(day, each.from, night ? week[next][0].to : each.to, each.throttle);
  }));
  const entries = [...periods].map(([times, days]) => `${daysText(days)} ${times}`);
  return entries.length && zone && zone !== "UTC" ? [...entries, `tz=${zone}`].join("; ") : entries.join("; ");
}

// `Mon-Fri`, `Sat,Sun`, or `Mon,Wed-Fri`.
export function daysText(days) {
  const runs = [];
  for (const day of [...days].sort((a, b) => a - b)) {
    if (runs.at(-1)?.at(-1) === day - 1) runs.at(-1).push(day);
    else runs.push([day]);
  }
  return runs.map((run) => (run.length > 2 ? `${DAYS[run[0]]}-${DAYS[run.at(-1)]}` : run.map((day) => DAYS[day]).join(","))).join(",");
}
