// Replica lists as chips: what a plan removes is struck, what it adds is marked.
"use strict";

import { setText } from "./dom.js";

const chip = (tag, className, broker) => {
  const node = document.createElement(tag);
  node.className = className;
  setText(node, broker);
  return node;
};

// Shows `before` → `after` in a cell; `have` are the replicas that exist now.
export function showMove(cell, { original: before, target: after, replicas: have }) {
  const form = `${before}>${after}>${have}`;
  if (cell.dataset.move === form) return;
  cell.dataset.move = form;
  const list = document.createElement("span");
  list.className = "move";
  const row = (brokers, of) => brokers.forEach((broker) => list.append(of(broker)));
  row(before, (broker) => (after.includes(broker) ? chip("span", "chip", broker) : chip("del", "chip removed", broker)));
  const arrow = document.createElement("span");
  arrow.className = "to";
  setText(arrow, "→");
  list.append(arrow);
  row(after, (broker) => (before.includes(broker) ? chip("span", "chip", broker) : chip("ins", have.includes(broker) ? "chip added" : "chip added missing", broker)));
  cell.replaceChildren(list);
}
