// Replica lists as chips: what a plan removes is struck, what it adds is marked.
"use strict";

import { h } from "./dom.js";

const chip = (tag, className, broker) => h(tag, { class: className }, broker);

// Shows `before` → `after` in a cell; `have` are the replicas that exist now.
export function showMove(cell, { original: before, target: after, replicas: have }) {
  const form = `${before}>${after}>${have}`;
  if (cell.dataset.move === form) return;
  cell.dataset.move = form;
  const gone = before.map((broker) => (after.includes(broker) ? chip("span", "chip", broker) : chip("del", "chip removed", broker)));
  const come = after.map((broker) => (before.includes(broker) ? chip("span", "chip", broker) : chip("ins", have.includes(broker) ? "chip added" : "chip added missing", broker)));
  cell.replaceChildren(h("span", { class: "move" }, gone, h("span", { class: "to" }, "→"), come));
}
