// The limits as gauges: the plain name first, how much of it is used, and the name of the config.
"use strict";

import { get } from "./api.js";
import { h, keyed, pieces, section, setAttribute, setHidden, setText } from "./dom.js";
import { NAMES, changeAsItIs, limitValue, usedOf } from "./limits.js";
import { paceRow } from "./pace_limit.js";

// The gauges, and `update()`, which reads the limits.
export function newGauges(app) {
  const grid = h("ul", { class: "gauges" });
  const node = section("limits", "Limits", grid);
  return {
    node,
    async update() {
      const { limits, pace } = await get("v1/limits");
      const rows = new Map([...limits, paceRow(pace)].map((row) => [row.name, row]));
      const names = [...Object.keys(NAMES).filter((name) => rows.has(name)), ...[...rows.keys()].filter((name) => !(name in NAMES))];
      keyed(grid, names, (name) => newGauge(name, app)).forEach((gauge, place) => show(gauge, rows.get(names[place]), app));
    },
  };
}

function newGauge(name, app) {
  const title = h("h3", { id: `limit-${name}` }, NAMES[name] ?? name);
  return h("li", { class: "gauge", "aria-labelledby": title.id }, title,
    h("p", { class: "value" }),
    h("progress", { max: 100, value: 0 }),
    h("p", { class: "used" }),
    h("p", { class: "config" }, h("code", {}), " ", h("span", {})),
    h("button", { type: "button", "aria-label": `Change limit ${name}`, onclick: () => changeAsItIs(name, app) }, "Change…"));
}

const ORIGINS = { settings: "from the server's settings", dynamic: "set while it runs" };

function show(gauge, limit, app) {
  const [, value, bar, used, config, change] = gauge.children;
  const measured = limit.used !== null && limit.used !== undefined;
  const bounded = measured && limit.limit !== null;
  setText(value, limit.limit === null ? (limit.name === "pace" ? "off" : "no limit") : limitValue(limit));
  setHidden(bar, !bounded);
  const share = bounded ? Math.min(100, (100 * limit.used) / Math.max(1, limit.limit)) : 0;
  setAttribute(bar, "value", share);
  setAttribute(bar, "aria-label", `${usedOf(limit)} of ${limitValue(limit)} used of limit ${limit.name}`);
  bar.classList.toggle("full", share >= 100);
  setText(used, bounded || limit.used ? `${usedOf(limit)} in use${bounded && share >= 100 ? ": the limit is reached" : ""}` : "");
  const [code, origin] = config.children;
  if (!code.firstChild) code.append(limit.name.length === 1 ? `${limit.name}: ` : "", ...pieces(limit.config, "."));
  setText(origin, ORIGINS[limit.origin] ?? "");
  setHidden(change, !app.mayChange);
}
