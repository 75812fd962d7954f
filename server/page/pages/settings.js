// The settings: limits, pace and schedule.
"use strict";

import { get } from "../api.js";
import { h, section } from "../dom.js";
import { limitTable } from "../limits.js";
import { newPace } from "../pace.js";
import { paceRow } from "../pace_limit.js";
import { newSchedule } from "../schedule.js";

function open(root, _params, app) {
  const [limits, pace, schedule] = [limitTable(app), newPace(), newSchedule(app)];
  root.append(h("h1", {}, "Settings"), section("limits", "Limits", limits.node), pace.node, schedule.node);
  return {
    async update({ status }) {
      const [{ limits: rows, pace: target }] = await Promise.all([get("v1/limits"), pace.update(status.pace), schedule.update(status.schedule)]);
      limits.show([...rows, paceRow(target)]);
    },
    close() {},
  };
}

export const page = { title: () => "Settings", open };
