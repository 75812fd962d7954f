// Changes the document in place: what is the same stays as it is, so that focus and selection survive a refresh.
// Values are set as text, never as markup.
"use strict";

import { visible } from "./format.js";

export const element = (id) => document.getElementById(id);

export function setText(node, value) {
  const text = visible(value);
  if (node.textContent !== text) node.textContent = text;
}

export function setAttribute(node, name, value) {
  if (value === null || value === undefined) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

export function setHidden(node, hidden) {
  if (node.hidden !== hidden) node.hidden = hidden;
}

// Makes the children of a node those of the keys, in their order. `make(key)` returns a new child.
export function keyed(parent, keys, make) {
  const present = new Map();
  for (const child of [...parent.children]) {
    if (keys.includes(child.dataset.key)) present.set(child.dataset.key, child);
    else child.remove();
  }
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  let next = parent.firstElementChild;
  const children = keys.map((key) => {
    let child = present.get(key);
    if (!child) {
      child = make(key);
      child.dataset.key = key;
    }
    if (child === next) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
    return child;
  });
  if (focused && document.activeElement !== focused) focused.focus({ preventScroll: true });
  return children;
}

function part(tag, role, className) {
  const node = document.createElement(tag);
  // CSS shows rows as blocks on narrow windows, where browsers would forget that they are rows.
  node.setAttribute("role", role);
  if (className) node.className = className;
  return node;
}

// A column has a `label`, and `text(row)`, or `make(cell)` and `patch(cell, row)` for other content than text.
// `number` aligns it right, `wide` lets it take a line of its own on narrow windows.
export class Table {
  constructor(id, columns, keyOf) {
    this.node = element(id);
    this.columns = columns;
    this.keyOf = keyOf;
    this.node.setAttribute("role", "table");
    const head = part("thead", "rowgroup");
    const line = part("tr", "row");
    for (const column of columns) {
      const cell = part("th", "columnheader", column.number ? "number" : "");
      cell.scope = "col";
      cell.textContent = column.label;
      line.append(cell);
    }
    head.append(line);
    this.body = part("tbody", "rowgroup");
    this.node.append(head, this.body);
  }

  show(rows) {
    const lines = keyed(this.body, rows.map((row) => String(this.keyOf(row))), () => this.#newLine());
    lines.forEach((line, place) => this.#patch(line, rows[place]));
  }

  #newLine() {
    const line = part("tr", "row");
    this.columns.forEach((column, place) => {
      const cell = place ? part("td", "cell") : part("th", "rowheader");
      if (!place) cell.scope = "row";
      cell.className = [column.number && "number", column.wide && "wide"].filter(Boolean).join(" ");
      cell.dataset.label = column.label;
      column.make?.(cell);
      line.append(cell);
    });
    return line;
  }

  #patch(line, row) {
    this.columns.forEach((column, place) => {
      const cell = line.children[place];
      if (column.patch) column.patch(cell, row);
      else setText(cell, column.text(row));
    });
  }
}

// A bar of one number within another. The label says what it is for those who do not see it.
export const progress = (values) => ({
  make(cell) {
    cell.append(document.createElement("progress"), document.createElement("span"));
  },
  patch(cell, row) {
    const { value, total, text, label } = values(row);
    const [bar, words] = cell.children;
    setHidden(bar, total === null);
    setAttribute(bar, "max", Math.max(total ?? 1, 1));
    setAttribute(bar, "value", Math.min(value, Math.max(total ?? 1, 1)));
    setAttribute(bar, "aria-label", visible(label));
    setText(words, text);
  },
});

// Buttons of a row. `buttons(row)` returns [name, label, action] of those that apply to it.
export const buttons = (of) => ({
  patch(cell, row) {
    const wanted = of(row);
    const nodes = keyed(cell, wanted.map(([name]) => name), () => {
      const node = document.createElement("button");
      node.type = "button";
      return node;
    });
    nodes.forEach((node, place) => {
      const [name, label, action] = wanted[place];
      setText(node, name);
      setAttribute(node, "aria-label", visible(label));
      node.onclick = action;
    });
  },
});

export const link = (href, text) => ({
  make(cell) {
    cell.append(document.createElement("a"));
  },
  patch(cell, row) {
    setAttribute(cell.firstChild, "href", href(row));
    setText(cell.firstChild, text(row));
  },
});
