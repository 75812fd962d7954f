// The settings: limits, pace, schedule, placement, who may do what, and the instances.
"use strict";

import { get, post } from "../api.js";
import { badge, button } from "../build.js";
import { h, section, setHidden, setText } from "../dom.js";
import { counted, time } from "../format.js";
import { newGauges } from "../gauges.js";
import { newPace } from "../pace.js";
import { allow } from "../placement.js";
import { ScheduleEditor } from "../schedule_editor.js";

const SELDOM_MS = 10_000;

export const page = {
  title: () => "Settings",
  open(root, params, app) {
    const [gauges, pace, schedule] = [newGauges(app), newPace(), new ScheduleEditor(app)];
    const others = [newPlacement(app), newAccess(), newInstances(app)];
    root.append(h("h1", {}, "Settings"), gauges.node, pace.node, schedule.node, h("div", { class: "cards" }, others.map(({ node }) => node)));
    let due = 0;
    return {
      async update() {
        await gauges.update();
        await pace.update(app.status.pace);
        await schedule.update(app.status.schedule);
        if (performance.now() < due) return;
        due = performance.now() + SELDOM_MS;
        for (const each of others) await each.update();
      },
      close: () => pace.close(),
    };
  },
};

function newPlacement(app) {
  const [text, list] = [h("p", {}), h("ul", { class: "rows" })];
  let looks = "";
  return {
    node: section("placement", "New partitions", text, list),
    async update() {
      const { excluded } = app.status.brokers;
      const now = JSON.stringify([excluded, app.mayChange]);
      if (now === looks) return;
      looks = now;
      setText(text, excluded.length ? "New partitions are not placed on these brokers:" : "New partitions may be placed on every broker.");
      list.replaceChildren(...excluded.map((id) => h("li", {}, h("a", { href: `#/brokers/${id}` }, `Broker ${id}`), app.mayChange && button("Allow…", () => allow(id, app), "", { "aria-label": `Allow new partitions on broker ${id}` }))));
    },
  };
}

function newAccess() {
  const [text, list] = [h("p", {}), h("ul", { class: "rows" })];
  return {
    node: section("access", "Who may use it", text, list),
    async update() {
      const { users, names, more, any_certificate: any } = await get("v1/access");
      const lines = [users && `Operators without a token: ${users}.`, any && "Everyone with a certificate of the configured authority is an operator.", names.length && "With a token or a certificate:"];
      setText(text, lines.filter(Boolean).join(" "));
      list.replaceChildren(...names.map(({ principal, role, shows }) => h("li", {}, h("span", {}, principal), badge(role === "operator" ? "info" : "", role), h("span", { class: "soft" }, shows))), ...(more ? [h("li", { class: "soft" }, `and ${counted(more, "more name")}`)] : []));
    },
  };
}

function newInstances(app) {
  const [text, list, over] = [h("p", {}), h("ul", { class: "rows" }), button("Hand over…", () => handOver(app))];
  const node = section("instances", "Instances", text, list, h("p", { class: "actions" }, over));
  return {
    node,
    async update() {
      const found = app.status.active && (await get("v1/instances"));
      setHidden(over, !app.mayChange || (found?.instances.length ?? 0) < 2);
      setText(text, found ? `The active one is so since ${time(found.active_since_ms)}.` : "There is only this instance.");
      list.replaceChildren(...(found?.instances ?? []).map((each) => h("li", {}, h("span", {}, each.id), badge(each.active ? "good" : "", each.active ? "active" : "standby"),
        h("span", { class: "soft" }, [each.url, `version ${each.version}`, `since ${time(each.started_ms)}`, each.lag && `${counted(each.lag, "record")} behind`].filter(Boolean).join(", ")))));
    },
  };
}

async function handOver(app) {
  const lines = ["A standby becomes the active instance. Steps in flight go on.", "Clients wait for a moment."];
  if (await app.ask("Let another instance become the active one?", lines, "Hand over", null, true)) {
    await app.act("The active instance hands over.", () => post("v1/instances/hand-over"));
  }
}
